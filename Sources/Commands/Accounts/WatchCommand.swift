import CommandLine
import CredentialCore
import Platform
import StrictJSON

/// `credmgr watch`.
struct WatchCommand: Command {
    static let spec = CommandSpec(
        ["watch"], "print events of accounts as they occur",
        details: """
            Prints a line per event of any process, of the group, or of all groups if you name no group: \
            account.added, account.updated, account.removed, token.refreshed, token.lost, login.failed, and \
            grant.expiring seven days and one day before a grant ends, if the provider reports the end. It never \
            prints a token. Press Ctrl-C to stop.
            """,
        options: [json],
        exitStatuses: [130])

    private static let json = Option.flag("json", "print a JSON object per line")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        InterruptExit.install()
        let feed = try session.context.events.follow(session.options.group)
        let place: LocalizedMessage = session.options.group.map { "group \($0)" } ?? "all groups"
        session.notices.note("watching \(place); press Ctrl-C to stop")
        let hosts = ClusterWatcher(
            session.services(session.stores(mayPrompt: false)),
            start: { (body) throws(CredentialError) in try DeadlineThread.start(body) },
            warn: { [notices = session.notices] group, error in
                notices.warning("cannot watch the other hosts of group \(group) for now: \(error)")
            })
        while true {
            hosts.look(try session.groups())
            guard let event = try feed.next(timeout: ClusterWatcher.interval) else { continue }
            try session.print(arguments.wantsJSON ? JSONValue.object(event.json).text() + "\n" : Self.line(event))
        }
    }

    private static func line(_ event: AccountEvent) -> String {
        let policy = event.policy.map { "policy \($0)" }
        let parts = [
            event.time.rfc3339, event.kind.rawValue, event.group.name, event.type, event.account, policy,
            event.reason,
        ]
        return parts.compactMap { $0.map { UntrustedText.shown($0) } }.joined(separator: "  ") + "\n"
    }
}
