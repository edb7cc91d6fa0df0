import CredentialCore

/// `credmgr refresh`: for a timer.
struct RefreshCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let seconds = try arguments.integer("min-valid", in: 0...31_536_000)
        let freshness = Freshness(minimumValidity: seconds ?? session.configuration.minimumValidity)
        let renewal = AccountRenewal(session, freshness: freshness)
        var failures: [CredentialError] = []
        for (group, account) in try accounts(session) {
            failures += renewal.run(account, in: group)
        }
        // The worst one is thrown and told at the end, with its hint.
        guard let worst = failures.max(by: { Self.gravity($0) < Self.gravity($1) }) else { return }
        var rest = failures
        if let place = rest.firstIndex(of: worst) { rest.remove(at: place) }
        for failure in rest { session.notices.warning(failure.message) }
        throw worst
    }

    private func accounts(_ session: Session) throws(CredentialError) -> [(KeychainGroup, Account)] {
        let resolver = TargetResolver(session)
        let options = TargetOptions(arguments)
        guard arguments.flag("all") else {
            let target = try resolver.target(options)
            return [(target.group, target.account)]
        }
        if options.account != nil {
            throw CredentialError(.usage, "--all and --account exclude each other")
        }
        let type = try options.type.map { (name) throws(CredentialError) in try resolver.type(named: name) }
        let registration = try type.map { (type) throws(CredentialError) in try resolver.registration(of: type) }
        var found: [(KeychainGroup, Account)] = []
        let groups = if let type { [resolver.group(of: type)] } else { try session.groups() }
        for group in groups {
            for account in try session.context.registry.read(group).accounts
            where registration == nil || account.registration == registration {
                found.append((group, account))
            }
        }
        return found
    }

    /// What goes away by itself counts least, then what a person has to do, then what nobody expected.
    private static func gravity(_ error: CredentialError) -> Int {
        switch error.code.exitStatus {
        case 6: 0
        case 5: 1
        case 4: 2
        default: 3
        }
    }
}
