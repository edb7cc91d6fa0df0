import CredentialCore

/// The actions of processes on accounts on one machine in memory: signing in, tokens, signing out, moving.
///
/// Each call is a process of its own, unless it is given a trace.
package struct ServiceScene: Sendable {
    /// The machine.
    package let machine: MemoryMachine
    /// The type that everybody signs in under.
    package var type: AccountType
    /// The store of new accounts.
    package var store: StoreKind
    /// The group.
    package let group = KeychainGroup.standard

    /// Makes a machine without any signed-in account.
    package init(cryptography: any Cryptography, store: StoreKind = .secretService) {
        machine = MemoryMachine(cryptography: cryptography)
        type = AccountType(name: "Tasks", adapter: "memory", clientID: "c")
        type.scope = ["read"]
        self.store = store
    }

    /// The services of a process for accounts.
    package func services(
        _ trace: PortTrace = PortTrace(), worker: PortTrace? = nil
    ) -> AccountServices {
        let programs: any ProcessRunner =
            worker.map { MemoryWorker(machine, caller: trace, worker: $0) } ?? UnexpectedPrograms()
        return AccountServices(
            machine.process(trace, programs: programs), AccountPolicy(refreshes: worker == nil ? .here : .worker),
            Configuration())
    }

    // MARK: What processes do

    /// Signs a person in.
    @discardableResult
    package func signIn(
        _ person: String = "ada", policy: String = "", new: Bool = false, for expected: ExpectedIdentity? = nil,
        _ trace: PortTrace = PortTrace()
    ) throws(CredentialError) -> SignInService.Outcome {
        try services(trace).signIn.keep(
            machine.provider.signIn(person, to: type, policy: policy), of: type, registration: registration,
            policy: policy, in: group, store: store, forceNew: new, for: expected)
    }

    /// The request for a token of the account.
    package func request(
        _ person: String = "ada", policy: String? = nil, scope: [String] = [], force: Bool = false,
        atLeast seconds: Int64? = nil
    ) throws(CredentialError) -> TokenService.Request {
        guard let account = account(person) else {
            throw CredentialError(.noSuchAccount, "nobody called \(person) has signed in")
        }
        return try TokenDemand(
            policy: policy, scope: scope, freshness: Freshness(demanded: seconds, configured: nil),
            forceRefresh: force
        ).request(of: account, under: type, in: group, by: machine.provider)
    }

    /// Gets a token, refreshing it in the process itself, or in the worker with this trace.
    @discardableResult
    package func token(
        _ request: TokenService.Request, _ trace: PortTrace = PortTrace(), worker: PortTrace? = nil
    ) throws(CredentialError) -> TokenService.Answer {
        try services(trace, worker: worker).tokens.token(request)
    }

    /// Signs a person out.
    package func signOut(
        _ person: String = "ada", policy: String? = nil, _ trace: PortTrace = PortTrace()
    ) throws(CredentialError) {
        guard let account = account(person) else { return }
        try services(trace).signOut.forget(account, policy: policy, in: group) {
            (_) throws(CredentialError) in
        }
    }

    /// Moves a person's account.
    @discardableResult
    package func move(
        _ person: String = "ada", to store: StoreKind, _ trace: PortTrace = PortTrace()
    ) throws(CredentialError) -> StoreMigration.Outcome? {
        guard let account = account(person) else { return nil }
        return try services(trace).migration.move(account, to: store, in: group)
    }

    /// Why a user's account can have no new token; `nil` if it has just got one.
    package func refreshFailure(_ person: String = "ada") -> CredentialError? {
        do throws(CredentialError) {
            let answer = try token(request(person, force: true))
            return answer.refreshed ? nil : answer.failure ?? CredentialError(.internalFault, "an old token")
        } catch { return error }
    }

    /// Ends the token of a sign-in of just now.
    package func passLife() { machine.clock.pass(machine.provider.lifetime) }

    // MARK: What is there

    /// The registration that accounts of the type belong to.
    package var registration: ClientIdentity {
        ClientIdentity(provider: MemoryProvider.issuer, clientID: type.clientID)
    }

    /// The account of a person that is listed.
    package func account(_ person: String = "ada") -> Account? {
        machine.accounts(group).first { $0.subject == person }
    }
}
