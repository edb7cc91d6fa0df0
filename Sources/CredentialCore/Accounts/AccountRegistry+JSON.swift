public import StrictJSON

extension AccountRegistry {
    /// The version of the document that this program reads and writes.
    public static let version: Int64 = 1

    /// The document `accounts.json`.
    public var json: JSONObject {
        var json = JSONObject()
        json["version"] = .integer(Self.version)
        json["accounts"] = .array(accounts.map { .object($0.json) })
        var byType = JSONObject()
        for (type, id) in defaults.sorted(by: { $0.key < $1.key }) { byType[type] = .string(id) }
        json["defaults"] = .object(byType)
        if needsRebuild { json["needs_rebuild"] = true }
        json["rebuild_told_at"] = rebuildToldAt.map { .integer($0.epochSeconds) }
        return json
    }

    /// Reads what ``json`` wrote; members it does not know are passed over.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for a document that a newer version of this program wrote;
    ///   ``ErrorCode/storeDamaged`` for one that is damaged.
    public init(json: JSONObject) throws(CredentialError) {
        self.init()
        let reader = RecordReader(json, of: "registry")
        guard case .integer(let version) = json["version"], version > 0 else { throw reader.damage("version") }
        if version > Self.version {
            throw CredentialError(
                .unsupported, "a newer credmgr wrote the registry (version \(version))", hint: "upgrade credmgr")
        }
        guard case .array(let entries) = json["accounts"] else { throw reader.damage("accounts") }
        guard case .object(let byType) = json["defaults"] else { throw reader.damage("defaults") }
        accounts.reserveCapacity(entries.count)
        var ids: Set<String> = []
        for entry in entries {
            guard case .object(let members) = entry else { throw reader.damage("accounts") }
            let account = try Account(json: members)
            guard ids.insert(account.id).inserted else { throw reader.damage("accounts") }
            accounts.append(account)
        }
        for (type, id) in byType.members {
            guard case .string(let id) = id else { throw reader.damage("defaults") }
            defaults[type] = id
        }
        needsRebuild = json["needs_rebuild"]?.bool ?? false
        rebuildToldAt = json["rebuild_told_at"]?.integer.map(Instant.init)
    }
}
