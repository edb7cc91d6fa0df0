import CredentialCore

/// Takes over what `accounts export` wrote on another machine. What is here already stays as it is.
struct ArchiveImport: Sendable {
    private let session: Session
    private let stores: any SecretStores
    private let store: StoreKind

    init(_ session: Session, _ stores: any SecretStores, store: StoreKind) {
        self.session = session
        self.stores = stores
        self.store = store
    }

    /// What became of an archive.
    struct Outcome {
        /// Whether an account was taken over.
        var hasTaken = false
        /// Why others are of no use any more.
        var failures: [CredentialError] = []
    }

    /// Takes over what is not here yet. An account that has to sign in anew does not keep the others back.
    func run(_ archive: AccountArchive) throws(CredentialError) -> Outcome {
        for (name, definition) in archive.types where try !session.catalog.isDefined(name) {
            let type = try AccountType(
                name: name, json: definition, isPrivateFile: true, place: "the exported file")
            try session.context.adapters.adapter(of: type).check(type)
            for secret in archive.secrets where secret.item.owner == name {
                try stores.store(store).write(
                    Array(secret.text.reveal().utf8), for: secret.item,
                    label: "credmgr: \(name) \(secret.item.kind.rawValue)")
            }
            session.notices.note("account type \(name) is defined in \(try session.catalog.add(type))")
        }
        let isSpent = session.services(stores).repository.spentByAnyone()
        var outcome = Outcome()
        for entry in archive.accounts {
            do throws(CredentialError) {
                if try take(entry, isSpent) { outcome.hasTaken = true }
            } catch {
                guard error.code == .signInRequired else { throw error }
                outcome.failures.append(error)
            }
        }
        return outcome
    }

    private func take(
        _ sent: AccountArchive.Entry, _ isSpent: (Secret) -> Bool
    ) throws(CredentialError) -> Bool {
        let account = sent.tokenSet.account
        let group = session.options.group ?? sent.group
        let shown = "\(ForeignText.shown(account.shownName)) of account type \(account.type)"
        let resolver = TargetResolver(session)
        let type = try resolver.type(named: account.type)
        let registration = try resolver.registration(of: type)
        guard registration == account.registration else {
            session.notices.warning("\(shown) is left out: the type is another client here")
            return false
        }
        let records = session.context.records
        let entry = try records.index(of: group, .ids).entries(of: registration, subject: account.subject).first
        let known = try entry.flatMap { (entry) throws(CredentialError) in try records.account(entry.id, in: group)
        }
        if let known, known.status == .active {
            session.notices.note("\(shown) is signed in here already and stays as it is")
            return false
        }
        var kept: SignInService.Outcome?
        let grants = sent.tokenSet.grants.filter { $0.value.lostReason == nil }
        let usable = grants.filter { !($0.value.refreshToken.map(isSpent) ?? false) }
        if usable.count < grants.count {
            let message =
                "\(shown): its refresh token is used up: the file is older than what this machine has seen"
            guard !usable.isEmpty else {
                var login = LoginCommandLine(type: type.name, group: group == type.keychainGroup ? nil : group)
                if let known { login = LoginCommandLine(for: known, in: group) }
                throw CredentialError(.signInRequired, message, hint: login.description)
            }
            session.notices.warning("\(message); its other policies are taken over")
        }
        for (policy, grant) in usable.sorted(by: { $0.key < $1.key }) {
            let identity = Identity(
                issuer: account.issuer, subject: account.subject, username: account.username,
                displayName: account.displayName)
            let token = sent.tokenSet.accessTokens.last { $0.key.policy == policy }
            kept = try session.services(stores).signIn.keep(
                SignInResult(identity: identity, tokens: IssuedTokens(accessToken: token, grant: grant)), of: type,
                registration: registration, policy: policy, in: group, store: store, forceNew: false)
        }
        guard let kept else { return false }
        for warning in kept.warnings { session.notices.warning(warning) }
        if let label = account.label {
            try records.update(kept.account.id, in: group) { $0.label = label }
        }
        try session.print("\(kept.account.id)\t\(ForeignText.shown(kept.account.shownName))\n")
        return true
    }
}
