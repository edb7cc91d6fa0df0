package import CredentialCore
import StrictJSON

/// Small files that this host keeps of a shared group: how the cluster is reached, and the host's own notes.
package protocol GroupFiles: Sendable {
    /// The content of a file; `nil` if it does not exist.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func read(_ name: String, of group: KeychainGroup) throws(CredentialError) -> [UInt8]?

    /// Replaces a file; durable when this returns.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ content: [UInt8], to name: String, of group: KeychainGroup) throws(CredentialError)

    /// Removes a file; one that is not there is no error.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove(_ name: String, of group: KeychainGroup) throws(CredentialError)

    /// All files of a group.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func names(of group: KeychainGroup) throws(CredentialError) -> [String]

    /// A text that distinguishes the folder of a group, on a running machine, from every copy of it, on the same
    /// machine or another, and from itself after a restart.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func place(of group: KeychainGroup) throws(CredentialError) -> String

    /// The groups that have a folder of any kind.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func groups() throws(CredentialError) -> [KeychainGroup]
}

/// The notes of this host about its own refreshes, in files.
struct FileIntentLog: IntentLog {
    let files: any GroupFiles
    let group: KeychainGroup

    static let intentPrefix = "intent-"
    static let answerPrefix = "answer-"

    func intent(of account: String) throws(CredentialError) -> IntentLogEntry? {
        guard let bytes = try files.read(Self.intentPrefix + account, of: group) else { return nil }
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object,
            let nonce = object["nonce"]?.string.flatMap(Base64URL.decode).flatMap(IntentNonce.init(bytes:)),
            let maySend = object["may_send"]?.bool
        else { throw CredentialError(.storeDamaged, "the note of a refresh of \(account) is damaged") }
        // In a copy of the directory, the state of the process that wrote it is unknown.
        let isElsewhere = try object["place"]?.string.map { (place) throws(CredentialError) in
            place != (try files.place(of: group))
        }
        var note = IntentLogEntry(
            nonce: nonce, maySend: maySend || isElsewhere == true,
            time: object["time"]?.integer.map(Timestamp.init(epochSeconds:)))
        note.earlier = (object["earlier"]?.array ?? []).compactMap { value in
            value.string.flatMap(Base64URL.decode).flatMap(IntentNonce.init(bytes:))
        }
        return note
    }

    func note(_ note: IntentLogEntry, of account: String) throws(CredentialError) {
        let before = try intent(of: account)
        let earlier = (before?.unsent ?? []).filter { $0 != note.nonce }
        var note = note
        note.time = note.time ?? before?.time
        note.earlier = Array(earlier.suffix(Self.earlierLimit))
        try write(note, account)
    }

    func forget(_ nonce: IntentNonce, of account: String) throws(CredentialError) {
        guard let note = try intent(of: account), note.unsent.contains(nonce) else { return }
        // An intent that was sent leaves no note: the absence of a note says the same.
        var rest = note.unsent.filter { $0 != nonce }
        guard let last = rest.popLast() else { return try files.remove(Self.intentPrefix + account, of: group) }
        var kept = IntentLogEntry(nonce: last, maySend: false, time: note.time)
        kept.earlier = rest
        try write(kept, account)
    }

    /// How many transactions may be without an answer, one after the other, and each be removed when it is applied
    /// at last.
    private static let earlierLimit = 8

    private func write(_ note: IntentLogEntry, _ account: String) throws(CredentialError) {
        var object = JSONObject()
        object["nonce"] = .string(Base64URL.encode(note.nonce.bytes))
        object["may_send"] = .bool(note.maySend)
        if note.isUnderWay { object["place"] = .string(try files.place(of: group)) }
        object["time"] = note.time.map { .integer($0.epochSeconds) }
        if !note.earlier.isEmpty { object["earlier"] = JSONValue(note.earlier.map { Base64URL.encode($0.bytes) }) }
        try files.write(JSONValue.object(object).bytes(), to: Self.intentPrefix + account, of: group)
    }

    func journal(of account: String) throws(CredentialError) -> [UInt8]? {
        try files.read(Self.answerPrefix + account, of: group)
    }

    func keepJournal(_ entry: [UInt8], of account: String) throws(CredentialError) {
        try files.write(entry, to: Self.answerPrefix + account, of: group)
    }

    func dropJournal(of account: String) throws(CredentialError) {
        try files.remove(Self.answerPrefix + account, of: group)
        try files.remove(Self.intentPrefix + account, of: group)
    }
}

extension ClusterConfiguration {
    static let fileName = "backend"

    /// As its file has it.
    package var fileContent: [UInt8] {
        var object = JSONObject()
        object["version"] = 1
        object["endpoints"] = JSONValue(endpoints)
        object["ca"] = authorities.map(JSONValue.string)
        object["cert"] = (certificate?.certificateFile).map(JSONValue.string)
        object["key"] = (certificate?.keyFile).map(JSONValue.string)
        object["prefix"] = .string(prefix)
        object["host"] = .string(host)
        object["host_key_store"] = .string(keyStore.rawValue)
        object["host_public_key"] = .string(Base64URL.encode(publicKey))
        object["group_id"] = .string(Base64URL.encode(groupID))
        object["group_fingerprint"] = groupFingerprint.map(JSONValue.string)
        settings.put(into: &object)
        return JSONValue.object(object).bytes(.indented) + [0x0A]
    }

    /// Reads the file.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``; ``ErrorCode/unsupported`` for a newer version's.
    package init(fileContent: [UInt8], of group: KeychainGroup) throws(CredentialError) {
        let object = (try? JSONValue.parse(fileContent, limits: .ownFile))?.object
        if let version = object?["version"]?.integer, version > 1 {
            throw CredentialError(
                .unsupported, "a newer credmgr shares the group \(group) (version \(version))",
                hint: "upgrade credmgr")
        }
        guard let object, let endpoints = object["endpoints"]?.array?.compactMap(\.string), !endpoints.isEmpty,
            let prefix = object["prefix"]?.string, let host = object["host"]?.string,
            let store = object["host_key_store"]?.string.flatMap(StoreKind.init(rawValue:)),
            let publicKey = object["host_public_key"]?.string.flatMap(Base64URL.decode),
            let groupID = object["group_id"]?.string.flatMap(Base64URL.decode)
        else {
            throw CredentialError(
                .storeDamaged,
                "the configuration file groups/\(group)/shared/\(Self.fileName) is damaged",
                hint: "to fix the file, join again under the same name: credmgr groups join --help")
        }
        let certificate: ClientCertificate? =
            if let file = object["cert"]?.string, let key = object["key"]?.string {
                ClientCertificate(certificateFile: file, keyFile: key)
            } else { nil }
        self.init(
            endpoints: endpoints, authorities: object["ca"]?.string, certificate: certificate, prefix: prefix,
            host: host,
            keyStore: store)
        self.publicKey = publicKey
        self.groupID = groupID
        groupFingerprint = object["group_fingerprint"]?.string
        settings = GroupSettings(object)
    }
}

extension GroupSettings {
    /// The settings that this host has last seen in the cluster, in a file beside the backend's. Every process that
    /// sees them writes the file, and only `join` and `leave` may decide whether there is a backend.
    static let fileName = "settings"

    func write(to files: any GroupFiles, of group: KeychainGroup) throws(CredentialError) {
        var object = JSONObject()
        put(into: &object)
        try files.write(JSONValue.object(object).bytes(), to: Self.fileName, of: group)
    }

    /// Reads it; `nil` if it cannot be read, as the cluster has it anyhow.
    init?(in files: any GroupFiles, of group: KeychainGroup) throws(CredentialError) {
        guard let content = try files.read(Self.fileName, of: group),
            let object = (try? JSONValue.parse(content, limits: .ownFile))?.object
        else { return nil }
        self.init(object)
    }
}
