import CredentialCore
import LinuxPlatform
import StrictJSON

/// `credmgr watch`.
struct WatchCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        InterruptExit.install()
        let feed = try session.context.events.follow(session.options.group)
        let place = session.options.group.map { "group \($0)" } ?? "all groups"
        session.notices.note("watching \(place); Ctrl-C ends it")
        while true {
            guard let event = try feed.next(timeout: nil) else { continue }
            try session.print(arguments.wantsJSON ? JSONValue.object(event.json).text() + "\n" : Self.line(event))
        }
    }

    private static func line(_ event: AccountEvent) -> String {
        let policy = event.policy.map { "policy \($0)" }
        let parts = [
            event.time.rfc3339, event.kind.rawValue, event.group.name, event.type, event.account, policy,
            event.reason,
        ]
        return parts.compactMap { $0.map { ForeignText.shown($0) } }.joined(separator: "  ") + "\n"
    }
}
