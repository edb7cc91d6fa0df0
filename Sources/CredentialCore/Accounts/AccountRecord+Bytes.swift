import StrictJSON

// A record in the form of its file: a line of JSON, then the sealed token set as it is. The page
// docs/reference/file-store.md has the form.
extension AccountRecord {
    /// The version that this program reads and writes.
    public static let version: Int64 = 1

    /// The record as it is kept.
    public var bytes: [UInt8] {
        var json = JSONObject()
        json["version"] = .integer(Self.version)
        json["group"] = .string(group.name)
        json["generation"] = .integer(generation)
        json["account"] = .object(account.json)
        if let sealed {
            json["token_set"] = [
                "generation": .integer(sealed.generation), "key": .string(sealed.key),
                "size": .integer(Int64(sealed.bytes.count)),
            ]
        }
        return JSONValue.object(json).bytes() + [0x0A] + (sealed?.bytes ?? [])
    }

    /// Reads the output of ``bytes``.
    ///
    /// - Throws: ``ErrorCode/storeDamaged`` if it is cut, changed, or another account's or group's;
    ///   ``ErrorCode/unsupported`` for one that a newer version of this program wrote.
    public init(_ bytes: [UInt8], of id: String, in group: KeychainGroup) throws(CredentialError) {
        guard let end = bytes.firstIndex(of: 0x0A),
            let json = try? JSONValue.parse(Array(bytes[..<end]), limits: .ownFile).object
        else { throw Self.damage("its first line is truncated or changed") }
        guard let version = json["version"]?.integer, version > 0 else { throw Self.damage("it has no version") }
        if version > Self.version {
            throw CredentialError(
                .unsupported, "a newer credmgr wrote it (version \(version))", hint: "upgrade credmgr")
        }
        guard let name = json["group"]?.string, let generation = json["generation"]?.integer, generation > 0,
            let facts = json["account"]?.object
        else { throw Self.damage("a member is missing") }
        guard name == group.name else {
            throw Self.damage("it belongs to group \(UntrustedText.shown(name, limit: 80))")
        }
        let account = try Account(json: facts)
        guard account.id == id else { throw Self.damage("it belongs to account \(account.id)") }
        self.init(group: group, account: account)
        self.generation = generation
        let rest = Array(bytes[(end + 1)...])
        guard let token = json["token_set"]?.object else {
            guard rest.isEmpty else { throw Self.damage("it has extra data at the end") }
            return
        }
        guard let number = token["generation"]?.integer, let key = token["key"]?.string,
            let size = token["size"]?.integer, size == rest.count
        else { throw Self.damage("it is truncated") }
        sealed = SealedTokenSet(generation: number, key: key, bytes: rest)
    }

    private static func damage(_ reason: LocalizedMessage) -> CredentialError {
        CredentialError(.storeDamaged, reason)
    }
}
