package import CredentialCore
import Platform

/// Secrets in the default collection of the desktop's keyring, one item each: gnome-keyring, KeePassXC, KWallet or
/// any other program that speaks the Secret Service interface.
///
/// Items carry the attributes `group`, `account` and `kind`, which the keyring keeps in clear, and the schema
/// `org.credmgr.TokenSet`. An item is created once and then changed in place; each change is read back.
package final class SecretServiceStore: SecretStore {
    /// Always the Secret Service.
    package let kind = StoreKind.secretService
    private let service: SecretServiceAccess
    private let warn: @Sendable (LocalizedMessage) -> Void

    /// Makes a store; no connection is opened before the first call.
    ///
    /// - Parameters:
    ///   - busAddress: the session bus, from ``SessionBus/address(environment:)``; without one every call throws.
    ///     A process works with one session bus at a time.
    ///   - staleVariable: the variable to report if that bus does not answer, from
    ///     ``SessionBus/staleVariable(environment:)``.
    ///   - canPrompt: whether there is a person who can answer the keyring's questions. Their time to answer does
    ///     not count towards the deadlines.
    ///   - promptSeconds: how long to wait for that person at most.
    ///   - whileWaiting: called when the keyring has been asked for a session and its answer takes some
    ///     milliseconds. It must not block.
    ///   - waiting: tells that the keyring's question is waited for.
    ///   - warn: takes a sentence that the user should see.
    package init(
        busAddress: String?, staleVariable: CredentialError? = nil, canPrompt: Bool, promptSeconds: Int = 120,
        whileWaiting: @escaping @Sendable () -> Void = {}, waiting: any ProgressDisplay = NoWaitingDisplay(),
        warn: @escaping @Sendable (LocalizedMessage) -> Void
    ) {
        service = SecretServiceAccess(
            busAddress: busAddress, staleVariable: staleVariable, canPrompt: canPrompt,
            promptSeconds: min(promptSeconds, 86_400),
            whileWaiting: whileWaiting, waiting: waiting)
        self.warn = warn
    }

    package func begin() { service.begin(milliseconds: Self.readMilliseconds) }

    package func probe() throws(CredentialError) {
        var time = TimeBudget(milliseconds: Self.readMilliseconds)
        let canPrompt = service.canPrompt
        try service.settled(&time) { session, deadline throws(SecretServiceError) -> StepState<Void> in
            guard let collection = try session.defaultCollection(until: deadline) else {
                return .failed(SecretServiceError.noDefaultCollection)
            }
            if canPrompt { return .done(()) }
            return try session.isLocked(collection, until: deadline) ? .locked([collection]) : .done(())
        }
    }

    /// Opens the default collection, which takes new secrets, and the locked objects of the group.
    package func unlock(_ group: KeychainGroup, seconds: Int64) throws(CredentialError) -> Bool {
        var time = TimeBudget(milliseconds: Self.readMilliseconds)
        try service.settled(&time) { session, deadline throws(SecretServiceError) -> StepState<Void> in
            guard let collection = try session.defaultCollection(until: deadline) else {
                return .failed(SecretServiceError.noDefaultCollection)
            }
            return try session.isLocked(collection, until: deadline) ? .locked([collection]) : .done(())
        }
        _ = try items(of: group, kind: .tokenSet)
        return true
    }

    package func read(_ item: SecretItem) throws(CredentialError) -> [UInt8]? {
        var time = TimeBudget(milliseconds: Self.readMilliseconds)
        return try service.settled(&time) { [warn] session, deadline throws(SecretServiceError) in
            switch try session.search(item.attributes, until: deadline) {
            case .found(let items):
                let path = try Self.newest(of: items, session, warn, until: deadline)
                let bytes = try session.secret(of: path, until: deadline).bytes
                guard !bytes.isEmpty else { throw SecretServiceError(.damaged, "it is empty") }
                return .done(bytes)
            case .locked(let objects): return .locked(objects)
            case .absent: return .done(nil)
            case .elsewhere: return .failed(Self.inAnotherKeyring)
            case .noDefaultCollection: return .failed(SecretServiceError.noDefaultCollection)
            }
        }
    }

    package func write(_ secret: [UInt8], for item: SecretItem, label: String) throws(CredentialError) {
        var time = TimeBudget(milliseconds: Self.writeMilliseconds)
        let label = UntrustedText.shown(String(label.map { $0 == "/" ? " " : $0 }), limit: 120)
        let outcome: Writing = try service.settled(&time) { [warn] session, deadline throws(SecretServiceError) in
            switch try session.search(item.attributes, until: deadline) {
            case .found(let items):
                let path = try Self.newest(of: items, session, warn, until: deadline)
                try session.setSecret(secret, of: path, until: deadline)
                return .done(.changed(isStored: try session.secret(of: path, until: deadline).holds(secret)))
            case .locked(let objects): return .locked(objects)
            case .absent, .elsewhere:
                guard let collection = try session.defaultCollection(until: deadline) else {
                    return .failed(SecretServiceError.noDefaultCollection)
                }
                return .done(
                    .created(
                        try session.create(secret, item.attributes, label: label, in: collection, until: deadline)))
            case .noDefaultCollection: return .failed(SecretServiceError.noDefaultCollection)
            }
        }
        let isStored: Bool
        switch outcome {
        case .changed(let isStoredThere): isStored = isStoredThere
        case .created(let question):
            if let question { try service.ask(question, &time) }
            isStored = try finds(secret, of: item, &time)
        }
        guard isStored else {
            throw CredentialError(
                .storeUnavailable,
                "the Secret Service reported that it stored the secret, but does not return the secret",
                hint: "check the keyring in its own program, or sign in with --duplicate --store file")
        }
    }

    /// Whether a search for the item leads to this secret.
    private func finds(_ secret: [UInt8], of item: SecretItem, _ time: inout TimeBudget) throws(CredentialError)
        -> Bool
    {
        try service.settled(&time) { session, deadline throws(SecretServiceError) in
            switch try session.search(item.attributes, until: deadline) {
            case .found(let items):
                let path = try Self.newest(of: items, session, { _ in }, until: deadline)
                return .done(try session.secret(of: path, until: deadline).holds(secret))
            case .locked(let objects): return .locked(objects)
            case .absent, .elsewhere, .noDefaultCollection: return .done(false)
            }
        }
    }

    package func remove(_ item: SecretItem) throws(CredentialError) {
        var time = TimeBudget(milliseconds: Self.writeMilliseconds)
        // One round for the items there, one for each question on the way, one to see that they are gone.
        for _ in 0..<Self.removalRounds {
            let step: Removal = try service.settled(&time) { session, deadline throws(SecretServiceError) in
                switch try session.search(item.attributes, until: deadline) {
                case .found(let items), .elsewhere(let items):
                    for path in items {
                        if let question = try session.delete(path, until: deadline) {
                            return .done(.question(question))
                        }
                    }
                    return .done(.deleted)
                case .locked(let objects): return .locked(objects)
                case .absent: return .done(.nothingLeft)
                case .noDefaultCollection: return .failed(SecretServiceError.noDefaultCollection)
                }
            }
            switch step {
            case .nothingLeft: return
            case .deleted: continue
            case .question(let question): try service.ask(question, &time)
            }
        }
        throw CredentialError(
            .storeUnavailable, "the Secret Service reported that it deleted the secret, but still has the secret",
            hint: "delete it with the keyring's own program")
    }

    package func items(of group: KeychainGroup, kind: SecretItem.Kind) throws(CredentialError) -> [SecretItem] {
        Set(try owners(of: group, kind).values).sorted().map { SecretItem(group: group, owner: $0, kind: kind) }
    }

    /// Asks for many secrets at once: a search for each would be one through all items.
    package func eachSecret(
        of group: KeychainGroup, kind: SecretItem.Kind,
        _ body: (SecretItem, [UInt8]?) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        let owners = try owners(of: group, kind)
        let paths = Dictionary(grouping: owners.keys) { owners[$0] ?? "" }.sorted { $0.key < $1.key }
        for start in stride(from: 0, to: paths.count, by: Self.secretsAtOnce) {
            let some = paths[start..<min(start + Self.secretsAtOnce, paths.count)]
            let secrets = try secrets(of: some.filter { $0.value.count == 1 }.flatMap(\.value))
            for (owner, paths) in some {
                let item = SecretItem(group: group, owner: owner, kind: kind)
                if let secret = paths.first.flatMap({ secrets[$0] }), !secret.isEmpty {
                    try body(item, secret)
                } else {
                    // Of several the newest counts; one that did not come is locked, damaged or gone.
                    try readEach(item, body)
                }
            }
        }
    }

    /// The owners of the items of a group of one kind, by the items' paths.
    private func owners(
        of group: KeychainGroup, _ kind: SecretItem.Kind
    ) throws(CredentialError) -> [String: String] {
        let attributes = SecretItem.attributes(group: group, kind: kind)
        let count = try found(attributes, Self.readMilliseconds) { (paths, _, _) in paths.count } ?? 0
        let time = Self.readMilliseconds + Int32(clamping: count) * Self.itemMilliseconds
        return try found(attributes, time) { (paths, session, deadline) throws(SecretServiceError) in
            var owners: [String: String] = [:]
            for path in paths {
                owners[path] = try session.attributes(of: path, until: deadline).first { $0.0 == "account" }?.1
            }
            return owners
        } ?? [:]
    }

    /// The result of `body` for the items with these attributes; `nil` if there are no items.
    private func found<Value: Sendable>(
        _ attributes: [(String, String)], _ milliseconds: Int32,
        _ body: @escaping @Sendable ([String], SecretServiceSession, Deadline) throws(SecretServiceError) -> Value
    ) throws(CredentialError) -> Value? {
        var time = TimeBudget(milliseconds: milliseconds)
        return try service.settled(&time) { session, deadline throws(SecretServiceError) -> StepState<Value?> in
            switch try session.search(attributes, until: deadline) {
            case .found(let paths): return .done(try body(paths, session, deadline))
            case .locked(let objects): return .locked(objects)
            case .absent: return .done(nil)
            case .elsewhere: return .failed(Self.inAnotherKeyring)
            case .noDefaultCollection: return .failed(SecretServiceError.noDefaultCollection)
            }
        }
    }

    /// The secrets of open items, by their paths; empty if one of them is gone.
    private func secrets(of paths: [String]) throws(CredentialError) -> [String: [UInt8]] {
        guard !paths.isEmpty else { return [:] }
        var time = TimeBudget(milliseconds: Self.readMilliseconds)
        return try service.settled(&time) { session, deadline throws(SecretServiceError) in
            do throws(SecretServiceError) {
                return .done(try session.secrets(of: paths, until: deadline).mapValues(\.bytes))
            } catch {
                guard error.kind == .noSuchObject else { throw error }
                return .done([:])
            }
        }
    }

    package func foreignItems(
        schema: String, attribute: String, where isWanted: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> [KeyringItem] {
        var time = TimeBudget(milliseconds: Self.readMilliseconds)
        return try service.settled(&time) { session, deadline throws(SecretServiceError) in
            switch try session.search([("xdg:schema", schema)], until: deadline) {
            case .found(let paths):
                var items: [KeyringItem] = []
                for path in paths {
                    let attributes = try session.attributes(of: path, until: deadline)
                    guard let name = attributes.first(where: { $0.0 == attribute })?.1, isWanted(name) else {
                        continue
                    }
                    let bytes = try session.secret(of: path, until: deadline).bytes
                    guard let text = String(validating: bytes, as: UTF8.self) else { continue }
                    items.append(KeyringItem(name: name, secret: Secret(text)))
                }
                return .done(items)
            case .locked(let objects): return .locked(objects)
            case .absent, .elsewhere: return .done([])
            case .noDefaultCollection: return .failed(SecretServiceError.noDefaultCollection)
            }
        }
    }

    /// The provider of the service and its default collection, without unlocking anything.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    package func describe() throws(CredentialError) -> SecretServiceDescription {
        var time = TimeBudget(milliseconds: Self.readMilliseconds)
        return try service.settled(&time) { session, deadline throws(SecretServiceError) in
            guard let collection = try session.defaultCollection(until: deadline) else {
                return .failed(SecretServiceError.noDefaultCollection)
            }
            return .done(
                SecretServiceDescription(
                    process: try session.ownerProcess(until: deadline),
                    collection: UntrustedText.shown(try session.label(ofCollection: collection, until: deadline)),
                    isLocked: try session.isLocked(collection, until: deadline)))
        }
    }

    package func facts() throws(CredentialError) -> [String] {
        let description = try describe()
        let program = ProcessName.of(description.process) ?? "an unknown program"
        return [
            "provided by \(UntrustedText.shown(program, limit: 80))",
            "the default keyring is \(description.isLocked ? "locked" : "unlocked")",
        ]
    }

    private enum Writing: Sendable {
        /// An item that was there has a new secret; whether it gives it back.
        case changed(isStored: Bool)
        /// There is a new item, as soon as this question is answered, if there is one.
        case created(String?)
    }

    private enum Removal: Sendable {
        case nothingLeft
        case deleted
        case question(String)
    }

    /// The item that counts when several have the same attributes: the one changed last, so that a write and the
    /// reads after it mean the same one.
    private static func newest(
        of items: [String], _ session: SecretServiceSession, _ warn: (LocalizedMessage) -> Void,
        until deadline: Deadline
    ) throws(SecretServiceError) -> String {
        var newest = (path: "", modified: UInt64.min)
        if items.count == 1, let only = items.first { return only }
        for path in items.sorted() {
            let modified = try session.modified(path, until: deadline)
            if modified >= newest.modified { newest = (path, modified) }
        }
        warn("the keyring has \(items.count) items for one account; used the item that changed last")
        return newest.path
    }

    private static let inAnotherKeyring = CredentialError(
        .storeUnavailable, "the secret is in a keyring that is not the default one",
        hint: "make that keyring the default again, or sign in again")
    private static let readMilliseconds: Int32 = 3_000
    private static let writeMilliseconds: Int32 = 5_000
    private static let removalRounds = 8
    /// The time limit for listing one more item; listing takes a fraction of it.
    private static let itemMilliseconds: Int32 = 5
    /// How many secrets one question asks for.
    private static let secretsAtOnce = 64
}

extension SecretItem {
    /// The set of attributes that finds the item. Keyrings keep it in clear.
    fileprivate var attributes: [(String, String)] {
        Self.attributes(group: group, kind: kind) + [("account", owner)]
    }

    fileprivate static func attributes(group: KeychainGroup, kind: Kind) -> [(String, String)] {
        [("xdg:schema", "org.credmgr.TokenSet"), ("group", group.name), ("kind", kind.rawValue)]
    }
}

extension SecretServiceStore {
    /// The protection of the default collection: the same for every group.
    package func protection(of group: KeychainGroup) throws(CredentialError) -> ProtectionSummary? {
        ProtectionSummary(
            summary: "kept by the desktop's keyring, encrypted with the password that unlocks it",
            protectsAgainst: "anyone with the disk or a backup, and other users of this machine",
            doesNotProtectAgainst: "programs that run as you while the keyring is unlocked, or the administrator")
    }
}
