import CommandLine
import CredentialCore

/// `credmgr refresh`: for a timer.
struct RefreshCommand: Command {
    static let spec = CommandSpec(
        ["refresh"], "refresh tokens that are about to expire",
        details: """
            Refreshes what would expire within --min-valid, of one account or with --all of every account of \
            the group, or of all groups when none is named. It goes on after a failure and then ends with the \
            status of the worst one. Made for a timer: it prints nothing on standard output.
            """,
        options: [all, minValid, SharedOption.type, SharedOption.account],
        examples: [.init("keep everything valid for an hour", "credmgr refresh --all --min-valid 3600")],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let all = Option.flag("all", "every account")
    private static let minValid = Option.time(
        "min-valid", atLeast: 0,
        "refresh what would be valid for a shorter time than this")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let seconds = arguments[Self.minValid]
        let freshness = Freshness(minimumValidity: seconds ?? session.configuration.minimumValidity)
        let refresh = AccountRefresh(session, freshness: freshness)
        var failures: [CredentialError] = []
        for (group, account) in try accounts(session, &failures) {
            failures += refresh.run(account, in: group)
        }
        try session.fail(with: failures)
    }

    private func accounts(
        _ session: Session, _ failures: inout [CredentialError]
    ) throws(CredentialError) -> [(group: KeychainGroup, account: Account)] {
        let resolver = TargetResolver(session)
        let options = TargetOptions(arguments)
        guard arguments[Self.all] else {
            let target = try resolver.target(options)
            return [(target.group, target.account)]
        }
        if options.account != nil {
            throw CredentialError(.usage, "--all and --account exclude each other")
        }
        let type = try options.type.map { (name) throws(CredentialError) in try resolver.type(named: name) }
        return try session.accounts(of: type) { failures.append($0) }
    }
}
