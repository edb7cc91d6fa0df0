public import CredentialCore
import OAuth
public import StrictJSON

extension AccountStore {
    /// The accounts that a type sees, each bound to that type: calls without a type use it.
    ///
    /// - Throws: as ``type(named:)``; ``CredentialCore/ErrorCode/inputOutput``;
    ///   ``CredentialCore/ErrorCode/temporary`` if no account is known and the cluster of a shared group could not
    ///   be asked.
    public func accounts(ofType name: String) throws(CredentialError) -> [Account] {
        let type = try type(named: name), group = group(of: type)
        let accounts = try registry(of: group).accounts(of: try registration(of: type))
        if accounts.isEmpty { try checkAsked(group) }
        return accounts.map { bound($0, to: type) }
    }

    /// The accounts of a group that can be read; ``Options/warn`` reports unreadable ones, and a shared group that
    /// is as it was seen last. A sign-in that could not be stored at once is among them as soon as it can be.
    private func registry(of group: KeychainGroup) throws(CredentialError) -> AccountList {
        _ = parts.accounts.takeUpSignIns(in: group)
        let registry = try parts.machine.records.registry(of: group) {
            options.warn("account \($0) of group \(group) is left out: \($1.message)")
        }
        if let failure = parts.machine.sharing.recentFailure(of: group) {
            options.warn("group \(group) is shown as this host has last seen it: \(failure)")
        }
        return registry
    }

    /// If no account is found and the cluster could not be asked, it is not known whether the account exists.
    private func checkAsked(_ group: KeychainGroup) throws(CredentialError) {
        if let failure = parts.machine.sharing.recentFailure(of: group) { throw failure }
    }

    /// All accounts of the group, or of all groups. A group that cannot be read stops no other one;
    /// ``Options/warn`` reports it.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/inputOutput``; the error that keeps the groups from being read if no
    ///   group can be.
    public func accounts() throws(CredentialError) -> [Account] {
        let groups = if let group = options.group { [group] } else { try parts.machine.records.groups() }
        var registries: [AccountList] = []
        var failures: [(group: KeychainGroup, error: CredentialError)] = []
        for group in groups {
            do throws(CredentialError) { registries.append(try registry(of: group)) } catch {
                failures.append((group, error))
            }
        }
        if registries.isEmpty, let failure = failures.last { throw failure.error }
        for (group, error) in failures {
            options.warn("the accounts of group \(group) are left out: \(error.message)")
        }
        return registries.flatMap(\.accounts)
    }

    /// The account with an id that a type sees.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/noSuchAccount``.
    public func account(withID id: String, ofType name: String) throws(CredentialError) -> Account {
        guard let account = try accounts(ofType: name).first(where: { $0.id == id }) else {
            throw CredentialError(.noSuchAccount, "no account '\(UntrustedText.shown(id))' of account type \(name)")
        }
        return account
    }

    // MARK: The default

    /// The account that is meant if no account is named: the type's default, else its only one; `nil` if there are
    /// several without a default.
    ///
    /// - Throws: as ``accounts(ofType:)``.
    public func defaultAccount(ofType name: String) throws(CredentialError) -> Account? {
        let type = try type(named: name)
        let group = group(of: type)
        let registration = try registration(of: type)
        let index = try parts.machine.records.index(of: group, .ids)
        guard let entry = index.defaultEntry(of: registration) else {
            if index.count(of: registration, atMost: 1) == 0 { try checkAsked(group) }
            return nil
        }
        return try parts.machine.records.account(entry.id, in: group).map { bound($0, to: type) }
    }

    /// Makes an account the default of its registration: of every type that sees it.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/noSuchAccount``, ``CredentialCore/ErrorCode/inputOutput``.
    public func setDefault(_ account: Account, ofType name: String? = nil) throws(CredentialError) {
        let group = try group(of: account, under: try? type(name, of: account))
        try parts.accounts.choice.choose(account, in: group)
        tell(account, name, group)
    }

    /// Gives an account a name of the user's own; an empty one removes it.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/noSuchAccount``, ``CredentialCore/ErrorCode/inputOutput``.
    public func setLabel(
        _ label: String, of account: Account, ofType name: String? = nil
    ) throws(CredentialError) {
        let group = try group(of: account, under: try? type(name, of: account))
        guard try parts.machine.records.update(account.id, in: group, { $0.label = label.isEmpty ? nil : label })
        else { throw CredentialError(.noSuchAccount, "account \(account.id) has been removed") }
        tell(account, name, group)
    }

    private func tell(_ account: Account, _ name: String?, _ group: KeychainGroup) {
        parts.machine.events.append(
            AccountEvent(
                kind: .accountUpdated, time: parts.machine.clock.now, group: group, type: name ?? account.type,
                account: account.id))
    }

    // MARK: What is kept with an account

    /// The claims of the newest id token of an account, as they were validated when it was stored.
    ///
    /// - Parameters:
    ///   - account: whose.
    ///   - name: the account type it is asked for under; the account's own for `nil`.
    ///   - policy: by alias or name, if the provider has policies; `nil` for the type's own.
    /// - Throws: ``CredentialCore/ErrorCode/signInRequired`` if the policy has no sign-in;
    ///   ``CredentialCore/ErrorCode/unsupported`` if the provider issued no ID token; the errors of the store.
    public func claims(
        of account: Account, ofType name: String? = nil, policy: String? = nil
    ) throws(CredentialError) -> JSONObject {
        try forPrograms { () throws(CredentialError) in
            guard let idToken = try grant(of: account, ofType: name, policy: policy).idToken else {
                throw CredentialError(
                    .unsupported, "account \(account.id) has no ID token",
                    hint: "add 'openid' to the scope of the type")
            }
            return try CompactJWT(idToken.reveal()).claims
        }
    }

    /// The fields of the provider's token replies that no standard knows: the address of an instance, the id of a
    /// team.
    ///
    /// - Throws: as ``claims(of:ofType:policy:)``.
    public func replyFields(
        of account: Account, ofType name: String? = nil, policy: String? = nil
    ) throws(CredentialError) -> JSONObject {
        try forPrograms { () throws(CredentialError) in
            GrantMetadata.fields(in: try grant(of: account, ofType: name, policy: policy).adapterState)
        }
    }

    private func grant(
        of account: Account, ofType name: String?, policy: String?
    ) throws(CredentialError) -> Grant {
        let type = try type(name, of: account)
        let policy = try parts.machine.adapters.adapter(of: type).policy(policy, of: type)
        let group = try group(of: account, under: type)
        guard
            let grant = try parts.accountsAtOnce.repository.read(account, in: group, isLocked: false)?.grants[
                policy]
        else {
            throw CredentialError(
                .signInRequired,
                "account \(account.id) has no grant\(policy.isEmpty ? "" : " for policy \(policy)")",
                hint: LoginHint(for: account, in: group, as: type, policy: policy).hint)
        }
        return grant
    }

    /// Returns the data that programs keep of their own beside an account: NXOAuth2's `userData`. It is empty if
    /// there is no data, or if the data cannot be read; then the options' `warn` reports why.
    public func userData(of account: Account) -> JSONObject {
        do throws(CredentialError) {
            let group = try group(of: account, under: try? type(named: account.type))
            return try parts.accountsAtOnce.userData.read(of: account, in: group)
        } catch {
            options.warn("the user data of \(account.id) cannot be read: \(error)")
            return JSONObject()
        }
    }

    /// Keeps any JSON beside an account, 64 KiB at most, as secret as its tokens; in place of the previous data.
    ///
    /// The account's store has 3 seconds to read and 5 to write. If the account is being refreshed, the call waits
    /// for 3 seconds.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/usage`` for too much; ``CredentialCore/ErrorCode/noSuchAccount``;
    ///   ``CredentialCore/ErrorCode/lockTimeout`` while the account is being refreshed, the data is not kept then;
    ///   the errors of the store.
    public func setUserData(_ data: JSONObject, of account: Account) throws(CredentialError) {
        let group = try group(of: account, under: try? type(named: account.type))
        try parts.accountsAtOnce.userData.write(data, of: account, in: group)
    }

    /// Keeps JSON beside an account.
    ///
    /// - Throws: as ``setUserData(_:of:)-(JSONObject,_)``.
    public func setUserData(_ data: [String: JSONValue], of account: Account) throws(CredentialError) {
        var object = JSONObject()
        for (name, value) in data.sorted(by: { $0.key < $1.key }) { object[name] = value }
        try setUserData(object, of: account)
    }

    /// Keeps texts beside an account.
    ///
    /// - Throws: as ``setUserData(_:of:)-(JSONObject,_)``.
    public func setUserData(_ data: [String: String], of account: Account) throws(CredentialError) {
        try setUserData(data.mapValues(JSONValue.string), of: account)
    }
}
