package import CredentialCore
import Platform
import StrictJSON

/// What providers publish, kept in `$XDG_CACHE_HOME/credmgr/metadata`: one file per address.
///
/// A file that cannot be read, or is of another address or version, counts as absent and is replaced by the next
/// write.
package struct MetadataFiles: MetadataCache {
    private static let folder = ["credmgr", "metadata"]
    private static let version: Int64 = 1
    /// The largest file read, in bytes: a reply of 1 MiB, written anew.
    private static let limit = 8 << 20

    private let cacheHome: String

    /// Keeps documents below `$XDG_CACHE_HOME`; nothing is made before the first write.
    package init(cacheHome: String) { self.cacheHome = cacheHome }

    package func read(_ address: String) -> PublishedDocument? {
        guard let folder = try? PrivateDirectory.open(Self.folder, below: cacheHome),
            let bytes = try? folder.read(Self.name(of: address), limit: Self.limit),
            let members = try? JSONValue.parse(bytes, limits: .ownFile).object,
            members["version"]?.integer == Self.version, members["address"]?.string == address,
            let document = members["document"]?.object, let fetchedAt = members["fetched_at"]?.integer,
            let lifetime = members["lifetime"]?.integer
        else { return nil }
        var kept = PublishedDocument(
            document: document, fetchedAt: Instant(epochSeconds: fetchedAt), lifetime: lifetime,
            entityTag: members["etag"]?.string, lastModified: members["last_modified"]?.string)
        kept.soughtAt = members["sought_at"]?.integer.map(Instant.init)
        return kept
    }

    package func write(_ document: PublishedDocument, for address: String) {
        var members = JSONObject()
        members["version"] = .integer(Self.version)
        members["address"] = .string(address)
        members["fetched_at"] = .integer(document.fetchedAt.epochSeconds)
        members["lifetime"] = .integer(document.lifetime)
        members["etag"] = document.entityTag.map(JSONValue.string)
        members["last_modified"] = document.lastModified.map(JSONValue.string)
        members["sought_at"] = document.soughtAt.map { .integer($0.epochSeconds) }
        members["document"] = .object(document.document)
        // Without the file the next process asks the provider, which is all that a cache spares.
        guard let folder = try? PrivateDirectory.create(Self.folder, below: cacheHome) else { return }
        try? folder.write(JSONValue.object(members).bytes(), to: Self.name(of: address))
    }

    /// A file's name: FNV-1a of the address. Two addresses of one name only push each other out, since the file
    /// says which it is of.
    private static func name(of address: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in address.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16) + ".json"
    }
}
