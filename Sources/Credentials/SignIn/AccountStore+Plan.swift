import CredentialCore
import OAuth

extension AccountStore {
    /// The parameters of a sign-in of this library.
    struct SignInOptions: Sendable {
        var type: String
        var account: Account?
        var policy: String?
        var scope: [String] = []
        var parameters: [String: String] = [:]
        var loginHint: String?
        var prompt = Prompt.auto
        var redirectURI: String?
        var flow: SignInFlow?
        var username: String?
        var password: Secret?
        var makesNew = false
    }

    /// Everything that can be wrong before a person is asked for anything.
    func plan(_ signInOptions: SignInOptions, _ accounts: AccountServices) throws(CredentialError) -> SignInPlan {
        if signInOptions.makesNew, signInOptions.account != nil {
            throw CredentialError(.usage, "cannot create a new account: the sign-in names an existing account")
        }
        var type = try current(try type(named: signInOptions.type), for: signInOptions.account, accounts)
        try ReservedParameters.check(signIn: signInOptions.parameters)
        type.authorizeParameters.merge(signInOptions.parameters) { $1 }
        let adapter = try parts.machine.adapters.adapter(of: type)
        try adapter.check(type)
        let group = group(of: type)
        let policy = try adapter.policy(signInOptions.policy, of: type)
        let scope =
            signInOptions.scope.isEmpty
            ? SignInPlan.scope(of: signInOptions.account, in: group, type, policy, services: accounts)
            : signInOptions.scope
        var request = SignInRequest(
            type: type, flow: signInOptions.flow ?? type.signInFlow, policy: policy, scope: scope,
            redirectURI: signInOptions.redirectURI ?? type.redirectURI ?? adapter.defaultRedirectURI)
        request.resource = type.resource
        request.audience = type.audience
        request.prompt = signInOptions.prompt.parameter
        request.username = signInOptions.username
        request.password = signInOptions.password
        request.loginHint = signInOptions.loginHint ?? signInOptions.account?.username
        if request.loginHint == nil, signInOptions.account == nil, !signInOptions.makesNew {
            request.loginHint = try SignInPlan.knownUser(
                for: request, adapter, among: try parts.machine.records.index(of: group, .none))
        }
        let store = try accounts.storeOfSignIn(for: signInOptions.account) { () throws(CredentialError) in
            try parts.storeOfNewAccounts(accounts)
        }
        // A store that stays locked is found out before the user signs in in vain.
        _ = try accounts.stores.store(store.kind).read(
            SecretItem(group: group, owner: type.name, kind: .clientSecret))
        return SignInPlan(
            adapter: adapter, request: request, group: group, store: store,
            person: signInOptions.account.map(ExpectedIdentity.init), parameters: signInOptions.parameters,
            forceNew: signInOptions.makesNew,
            isLoginHintGiven: signInOptions.loginHint != nil)
    }

    /// The type as its API has it now.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount`` if it does not see `account`; ``ErrorCode/signInRequired`` if the
    ///   API's new one does not.
    private func current(
        _ type: AccountType, for account: Account?, _ accounts: AccountServices
    ) throws(CredentialError) -> AccountType {
        try account?.check(seenBy: type, try registration(of: type), in: group(of: type))
        let current = try parts.current(type, accounts)
        guard let account, current != type, try registration(of: current) != account.registration else {
            return current
        }
        throw CredentialError(
            .signInRequired,
            "the API has moved to another authorization server, which does not know account \(account.id)",
            hint: LoginHint(type: type.name).hint)
    }

    /// Keeps the result of a sign-in, and reports the messages for the user.
    func keep(
        _ result: SignInResult, _ plan: SignInPlan, _ accounts: AccountServices
    ) throws(CredentialError) -> SignInService.Outcome {
        let outcome = try plan.keep(result, by: accounts)
        for warning in outcome.warnings { options.warn(warning.description) }
        return outcome
    }
}
