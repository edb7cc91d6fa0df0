package import CredentialCore
import Platform

/// Digests of refresh tokens that are used up: `spent/GROUP/ACCOUNT` in `$XDG_STATE_HOME/credmgr`, one per line.
///
/// They lie apart from the data folder, so that a copy of that which is put back does not take them along.
package struct SpentTokenFiles: SpentTokens {
    /// How many digests of an account are kept: the newest.
    private static let count = 64
    private static let limit = 1 << 20

    private let stateHome: String

    /// Keeps digests below `$XDG_STATE_HOME`; nothing is made before the first one.
    package init(stateHome: String) { self.stateHome = stateHome }

    package func contains(_ digest: [UInt8], of account: String, in group: KeychainGroup) -> Bool {
        guard let folder = try? PrivateDirectory.open(Self.folder(group), below: stateHome) else { return false }
        return Self.lines(account, folder).contains(Base64URL.encode(digest))
    }

    package func add(_ digest: [UInt8], of account: String, in group: KeychainGroup) {
        let line = Base64URL.encode(digest)
        // Without it an old store's token is sent, as it was before there were digests.
        guard let folder = try? PrivateDirectory.create(Self.folder(group), below: stateHome) else { return }
        let lines = Self.lines(account, folder)
        if lines.contains(line) { return }
        if lines.count < 2 * Self.count, let file = try? folder.openShared(account, appending: true) {
            _ = file.writeAll(Array((line + "\n").utf8))
        } else {
            let kept = lines.suffix(Self.count - 1) + [line]
            try? folder.write(Array(kept.map { $0 + "\n" }.joined().utf8), to: account)
        }
    }

    package func all() -> [SpentDigests] {
        guard let root = try? PrivateDirectory.open(Self.root, below: stateHome), let names = try? root.names()
        else {
            return []
        }
        var found: [SpentDigests] = []
        for group in names.compactMap({ try? KeychainGroup($0) }) {
            guard let folder = try? PrivateDirectory.open(Self.folder(group), below: stateHome),
                let accounts = try? folder.names()
            else { continue }
            for account in accounts {
                let digests = Self.lines(account, folder).compactMap { Base64URL.decode($0) }
                if !digests.isEmpty {
                    found.append(SpentDigests(group: group, account: account, digests: Set(digests)))
                }
            }
        }
        return found
    }

    package func checkMemory() throws(CredentialError) {
        let place = ([stateHome] + Self.root).joined(separator: "/")
        guard let root = try PrivateDirectory.open(Self.root, below: stateHome) else {
            return try PrivateDirectory.checkCanBeMade(place)
        }
        if let reason = FileSystem.refusal(at: place) {
            throw CredentialError(
                .inputOutput, "nothing can be written to \(ForeignText.shown(place, limit: 4_096)): \(reason)",
                hint: "df -h '\(place)'")
        }
        try PrivateDirectory.checkCanBeMade("\(place)/group")
        for group in try root.names().compactMap({ try? KeychainGroup($0) }) {
            guard let folder = try PrivateDirectory.open(Self.folder(group), below: stateHome) else { continue }
            try PrivateDirectory.checkCanBeMade("\(folder.path)/account")
            for account in try folder.names() { _ = try folder.read(account, limit: Self.limit) }
        }
    }

    private static let root = ["credmgr", "spent"]

    private static func folder(_ group: KeychainGroup) -> [String] { root + [group.name] }

    private static func lines(_ account: String, _ folder: borrowing PrivateDirectory) -> [String] {
        guard let bytes = try? folder.read(account, limit: limit) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
