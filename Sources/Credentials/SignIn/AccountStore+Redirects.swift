public import CredentialCore
import OAuth
import Synchronization

/// A sign-in that waits for its redirect, in this process or another.
public struct PreparedAuthorization: Sendable, Hashable {
    /// The URL to open in a browser.
    public let url: String
    /// The `state` that the redirect will carry; ``AccountStore/cancel(_:)`` takes it.
    public let state: String
    /// The URI that the provider will redirect to.
    public let redirectURI: String
}

/// The state of a sign-in after a redirect.
public enum SignInProgress: Sendable {
    /// Signed in; the account is kept.
    case signedIn(Account)
    /// The provider sends the person on: B2C does so after a forgotten password. Open the URL, and bring the next
    /// redirect.
    case continues(PreparedAuthorization)
}

/// The two halves of a sign-in by authorization code.
extension AccountStore {
    /// Prepares a sign-in by authorization code with PKCE: the URL to open.
    ///
    /// It is kept for 15 minutes in the store of secrets, so that any process of the user can finish it: this store
    /// by ``handleRedirect(_:)``, another program, or `credmgr login --complete`. Any number can wait at once; each
    /// is found by its `state`.
    ///
    /// - Parameters:
    ///   - name: the account type.
    ///   - account: only its person may come back.
    ///   - redirectURI: the address at which the program receives the redirect; `nil` for the type's own.
    ///   - policy: by alias or name, if the provider has policies.
    ///   - scope: in place of the type's own; if empty, the type's own.
    ///   - parameters: extra parameters of the authorization request, for this sign-in only.
    ///   - loginHint: the user that the provider should offer first; the account's user name for `nil`.
    ///   - prompt: which prompt the provider shows.
    ///   - makingNew: whether a person who is known here gets another account, as `login --duplicate` gives.
    /// - Throws: ``CredentialCore/ErrorCode/configuration``, ``CredentialCore/ErrorCode/temporary``; the errors of
    ///   the store.
    public func prepareAuthorization(
        ofType name: String, as account: Account? = nil, redirectURI: String? = nil, policy: String? = nil,
        scope: [String] = [], parameters: [String: String] = [:], loginHint: String? = nil, prompt: Prompt = .auto,
        makingNew: Bool = false
    ) async throws(CredentialError) -> PreparedAuthorization {
        let signInOptions = SignInOptions(
            type: name, account: account, policy: policy, scope: scope, parameters: parameters,
            loginHint: loginHint, prompt: prompt, redirectURI: redirectURI, flow: .code,
            makesNew: makingNew)
        return try await blocking { [self] () throws(CredentialError) in
            let accounts = parts.accounts
            return try prepare(try plan(signInOptions, accounts), accounts)
        }
    }

    /// Finishes the sign-in that a redirected URL belongs to, begun by any process, and keeps the account.
    ///
    /// - Throws: as ``resume(with:)``; ``CredentialCore/ErrorCode/signInRequired`` if the provider sends the user
    ///   on, which only ``resume(with:)`` can follow.
    public func handleRedirect(_ url: String) async throws(CredentialError) -> Account {
        switch try await resume(with: url) {
        case .signedIn(let account): return account
        case .continues(let next):
            // A sign-in of this store that waits goes on by itself.
            if !waiting.withLock({ $0[next.state] != nil }) { try await cancel(next) }
            throw CredentialError(
                .signInRequired, "the provider requires another step in the browser", hint: "resume(with: url)")
        }
    }

    /// Goes on with the sign-in that a redirected URL belongs to, begun by any process.
    ///
    /// A redirect can be used once. One that does not fit leaves the sign-in waiting.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/denied`` for a redirect that no sign-in waits for;
    ///   ``CredentialCore/ErrorCode/usage`` for a URL that is no redirect; ``CredentialCore/ErrorCode/cancelled``
    ///   and ``CredentialCore/ErrorCode/validationFailed`` as the provider answered; the errors of the store.
    public func resume(with url: String) async throws(CredentialError) -> SignInProgress {
        try await blocking { [self] () throws(CredentialError) in
            let accounts = parts.accounts
            // Before the code is used, and in the store that keeps waiting sign-ins, too: its group is known once
            // it was taken.
            try accounts.signIn.reserveRoom(in: .standard)
            defer { accounts.signIn.releaseRoom(in: .standard) }
            var signIn = try PendingSignIns(parts.machine, accounts.stores).take(
                url, in: accounts.adapterContext)
            let waiter = RedirectState.value(in: url).flatMap { state in waiting.withLock { $0[state] } }
            do throws(CredentialError) {
                let plan = signIn.plan
                let progress: SignInProgress
                switch try plan.adapter.resume(
                    plan.request, pending: signIn.pending, with: .redirect(url),
                    in: accounts.adapterContext(of: plan.request.type))
                {
                case .interaction(.openURL(let address, let state), let pending):
                    (signIn.pending, signIn.createdAt) = (pending, parts.machine.clock.now)
                    try PendingSignIns(parts.machine, accounts.stores).keep(signIn, state: state)
                    progress = .continues(
                        PreparedAuthorization(
                            url: address.description, state: state, redirectURI: plan.request.redirectURI))
                case .interaction:
                    throw CredentialError(.unsupported, "the provider requires more than a page")
                case .done(let result):
                    accounts.signIn.releaseRoom(in: .standard)
                    progress = .signedIn(
                        bound(try keep(result, plan, accounts).account, to: plan.request.type))
                }
                settle(waiter, progress)
                return progress
            } catch {
                signIn.plan.tell(error, on: parts.machine)
                waiter?.settle(.failure(error.forPrograms))
                throw error
            }
        }
    }

    /// Has the sign-in of this store that waits go on. The next interaction to wait for is noted first: the caller
    /// that brought this redirect checks whether a task waits, and must not be faster than that task.
    private func settle(_ waiter: AsyncResult<SignInProgress>?, _ progress: SignInProgress) {
        guard let waiter else { return }
        guard case .continues(let next) = progress else {
            waiter.settle(.success(progress))
            return
        }
        waiting.withLock { $0[next.state] = AsyncResult() }
        // A task that was cancelled meanwhile waits no more.
        if !waiter.settle(.success(progress)) { waiting.withLock { $0[next.state] = nil } }
    }

    /// Forgets a prepared sign-in.
    ///
    /// - Throws: the errors of the store.
    public func cancel(_ authorization: PreparedAuthorization) async throws(CredentialError) {
        try await blocking { [self] () throws(CredentialError) in
            let accounts = parts.accounts
            let kind = try parts.storeOfNewAccounts(accounts).kind
            try PendingSignIns(parts.machine, accounts.stores).drop(state: authorization.state, from: kind)
        }
    }

    /// Begins a sign-in and keeps it until its redirect.
    func prepare(
        _ plan: SignInPlan, _ accounts: AccountServices
    ) throws(CredentialError) -> PreparedAuthorization {
        let step = try plan.adapter.begin(plan.request, in: accounts.adapterContext(of: plan.request.type))
        guard case .interaction(.openURL(let address, let state), let pending) = step else {
            throw CredentialError(
                .unsupported, "the adapter of \(plan.request.type.name) does not support sign-in by URL")
        }
        try PendingSignIns(parts.machine, accounts.stores).keep(
            PendingSignIn(plan: plan, pending: pending, createdAt: parts.machine.clock.now), state: state)
        return PreparedAuthorization(
            url: address.description, state: state, redirectURI: plan.request.redirectURI)
    }
}
