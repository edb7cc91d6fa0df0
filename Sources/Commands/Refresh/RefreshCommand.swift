import CommandLine
import CredentialCore
import Platform
import Synchronization

/// `credmgr refresh`: for a timer.
struct RefreshCommand: Command {
    static let spec = CommandSpec(
        ["refresh"], "refresh tokens that are about to expire",
        details: """
            Refreshes the tokens that would expire within --min-valid: of one account, or with --all of every \
            account of the group, or of all groups if you name no group. It refreshes several accounts in \
            parallel, in separate processes that finish even if this command ends. After a failure, it continues \
            and then exits with the status of the worst failure. After a response that credmgr cannot use, it \
            refreshes no further account of that provider. For timers, it prints nothing on standard output.
            """,
        options: [all, minValid, jobs, SharedOption.type, SharedOption.account],
        examples: [.init("keep all tokens valid for an hour", "credmgr refresh --all --min-valid 3600")],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let all = Option.flag("all", "every account")
    private static let minValid = Option.time(
        "min-valid", atLeast: 0,
        "refresh tokens that are valid for less than this time")

    private static let jobs = Option.integer(
        "jobs", "N", in: 1...64, "how many accounts to refresh at once (default: \(standardJobs))")
    private static let standardJobs = 8

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let seconds = arguments[Self.minValid]
        let freshness = Freshness(minimumValidity: seconds ?? session.configuration.minimumValidity)
        let demand = TokenDemand(freshness: freshness)
        var failures: [CredentialError] = []
        let accounts = try accounts(session, &failures)
        var plan = try RefreshPlan(session, demand)
        failures += run(plan.jobs(accounts), of: accounts.count, AccountRefresh(session, demand), session)
        try session.fail(with: failures)
    }

    /// Does the jobs, and reports them in the order of the list.
    private func run(
        _ jobs: [RefreshPlan.Job], of count: Int, _ refresh: AccountRefresh, _ session: CommandSession
    ) -> [CredentialError] {
        let progress = Progress(jobs.count)
        let notice =
            jobs.count > 1
            ? session.notices.waiting.begin {
                "\(progress.left) of \(count, one: "\(count) account", other: "\(count) accounts")"
            }
            : NoWaitingNotice.standard
        defer { notice.end() }
        var failures: [CredentialError] = []
        BoundedWorkQueue.run(
            jobs, atMost: Int(arguments[Self.jobs] ?? Int64(Self.standardJobs)),
            lane: { $0.account.registration.shownProvider }, caution: refresh.caution { progress.count() }
        ) { job, mayPutOff in
            let outcome = refresh.run(job, waits: !mayPutOff)
            if outcome != nil { progress.count() }
            return outcome
        } take: { outcome in
            for warning in outcome.warnings { session.notices.warning(warning) }
            for note in outcome.notes { session.notices.note(note) }
            failures += outcome.failures
        }
        return failures
    }

    /// How many accounts are not done yet.
    private final class Progress: Sendable {
        private let number: Atomic<Int>

        init(_ number: Int) { self.number = Atomic(number) }

        var left: Int { number.load(ordering: .relaxed) }

        func count() { number.subtract(1, ordering: .relaxed) }
    }

    private func accounts(
        _ session: CommandSession, _ failures: inout [CredentialError]
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
        return try session.accounts(of: type) { failures.append($1) }
    }
}
