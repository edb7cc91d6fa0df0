package import CredentialCore
import Platform
import StrictJSON

/// The documents that providers publish, kept in `$XDG_CACHE_HOME/credmgr/metadata`: one file per address.
///
/// Each file begins with a seal: HMAC-SHA-256 over the rest, by a key in `$XDG_STATE_HOME/credmgr/metadata.key`. A
/// program that can write to the cache folder alone, as a sandbox that shares it, cannot name an endpoint. A file
/// without a valid seal, of another address or of another version counts as absent. Without the key, as in a home
/// that is read-only, no document is kept on disk.
package struct MetadataFiles: MetadataCache {
    private static let folder = ["credmgr", "metadata"]
    private static let version: Int64 = 2
    /// The largest file read, in bytes: a response of 1 MiB, rewritten.
    private static let limit = 8 << 20
    /// How many files are kept; the oldest are removed.
    private static let greatestCount = 64
    /// How many bytes all files may have together.
    private static let greatestSize: Int64 = 16 << 20
    private static let suffix = ".sealed"

    private let cacheHome: String
    private let key: MachineKey

    /// Keeps documents below `$XDG_CACHE_HOME` and the key below `$XDG_STATE_HOME`; no file is made before the
    /// first write.
    package init(cacheHome: String, stateHome: String, random: any RandomSource) {
        self.cacheHome = cacheHome
        key = MachineKey("metadata.key", in: ["credmgr"], below: stateHome, random: random)
    }

    package func read(_ address: String) -> ProviderDocument? {
        guard let folder = try? PrivateDirectory.open(Self.folder, below: cacheHome),
            let bytes = try? folder.read(Self.name(of: address), limit: Self.limit),
            let content = content(of: bytes),
            let members = try? JSONValue.parse(content, limits: .ownFile).object,
            members["version"]?.integer == Self.version, members["address"]?.string == address,
            let document = members["document"]?.object, let fetchedAt = members["fetched_at"]?.integer,
            let lifetime = members["lifetime"]?.integer
        else { return nil }
        var kept = ProviderDocument(
            document: document, fetchedAt: Timestamp(epochSeconds: fetchedAt), lifetime: lifetime,
            entityTag: members["etag"]?.string, lastModified: members["last_modified"]?.string)
        kept.soughtAt = members["sought_at"]?.integer.map(Timestamp.init)
        return kept
    }

    package func write(_ document: ProviderDocument, for address: String) {
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
        guard let seal = seal(for: JSONValue.object(members).bytes()),
            let folder = try? PrivateDirectory.create(Self.folder, below: cacheHome)
        else { return }
        let name = Self.name(of: address)
        try? folder.write(seal, to: name, isDurable: false)
        Self.removeOldest(in: folder, besides: name)
    }

    // MARK: Seals

    /// The content with its seal before it; `nil` if there is no key.
    private func seal(for content: [UInt8]) -> [UInt8]? {
        guard let code = key.code(of: content, makesKey: true) else { return nil }
        return Array(Base64URL.encode(code).utf8) + [0x0A] + content
    }

    /// The content of a file, if its seal is valid.
    private func content(of bytes: [UInt8]) -> [UInt8]? {
        guard let end = bytes.firstIndex(of: 0x0A) else { return nil }
        let content = Array(bytes[(end + 1)...])
        guard let code = key.code(of: content, makesKey: false) else { return nil }
        let seal = String(decoding: bytes[..<end], as: UTF8.self)
        return ConstantTime.equal(seal, Base64URL.encode(code)) ? content : nil
    }

    // MARK: Files

    /// Removes the oldest files beyond the limits, and files of an earlier form. A provider can invent addresses.
    private static func removeOldest(in folder: borrowing PrivateDirectory, besides newest: String) {
        guard let names = try? folder.names() else { return }
        var files: [(name: String, facts: FileStatus)] = []
        for name in names where name != newest && !name.hasPrefix(".") {
            guard name.hasSuffix(suffix) else {
                try? folder.remove(name)
                continue
            }
            if let facts = FileStatus.of(folder.path(of: name)) { files.append((name, facts)) }
        }
        var size = FileStatus.of(folder.path(of: newest))?.size ?? 0
        var count = 1
        for (name, facts) in files.sorted(by: { $0.facts.modified > $1.facts.modified }) {
            count += 1
            size += facts.size
            if count > greatestCount || size > greatestSize { try? folder.remove(name) }
        }
    }

    /// A file's name: FNV-1a of the address. Two addresses of one name only push each other out, since the file
    /// says which it is of.
    private static func name(of address: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in address.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16) + suffix
    }
}
