package import CredentialCore
import Platform

/// The refresh tokens that this machine has used: 4,096 files in `$XDG_STATE_HOME/credmgr/used`, named by the first
/// three hexadecimal digits of the key, one line for each token and each rotation number.
///
/// They lie apart from the data directory, so that a copy of that which is restored does not take them along. A
/// lookup reads one file, however many accounts there are.
package final class UsedTokenFiles: UsedRefreshTokens {
    private static let folder = ["credmgr", "used"]
    private static let keyName = "key"
    /// How long a line is kept if the provider names no end, in seconds: 400 days.
    private static let lifetime: Int64 = 400 * 86_400
    private static let limit = 64 << 20
    /// From how many bytes on a file is rewritten without the lines that have ended or are repeated.
    private static let greatestSize = 32 << 10
    /// How often the file may be replaced while a line is appended.
    private static let exchanges = 64

    private let stateHome: String
    private let clock: any WallClock
    private let key: MachineKey

    /// Keeps digests below `$XDG_STATE_HOME`; no file is made before the first one.
    package init(stateHome: String, clock: any WallClock = SystemClock(), random: any RandomSource = SystemRandom())
    {
        self.stateHome = stateHome
        self.clock = clock
        key = MachineKey(Self.keyName, in: Self.folder, below: stateHome, random: random)
    }

    package func contains(_ token: Secret) -> Bool {
        guard let code = code(of: token, makesKey: false) else { return false }
        let digest = Base64URL.encode(code)
        return lines(of: Self.file(of: code)).contains { $0.kind == .token && $0.name == digest }
    }

    package func record(_ token: Secret, until end: Timestamp?) {
        // Without it a token of an old store is sent, as it would be on another machine.
        guard let code = code(of: token, makesKey: true) else { return }
        append(Line(.token, Base64URL.encode(code), 0, end ?? defaultEnd), to: Self.file(of: code))
    }

    package func rotation(of grant: String) -> Int64? {
        guard let bytes = Base64URL.decode(grant), bytes.count > 1 else { return nil }
        return lines(of: Self.file(of: bytes)).filter { $0.kind == .grant && $0.name == grant }.map(\.number).max()
    }

    package func record(rotation: Int64, of grant: String, until end: Timestamp?) {
        guard let bytes = Base64URL.decode(grant), bytes.count > 1 else { return }
        append(Line(.grant, grant, rotation, end ?? defaultEnd), to: Self.file(of: bytes))
    }

    package func digest(of token: Secret) -> String? {
        code(of: token, makesKey: true).map { Base64URL.encode($0) }
    }

    package func checkMemory() throws(CredentialError) {
        let place = ([stateHome] + Self.folder).joined(separator: "/")
        guard let folder = try PrivateDirectory.open(Self.folder, below: stateHome) else {
            return try PrivateDirectory.checkCanBeMade(place)
        }
        if let reason = FileSystem.refusal(at: place) {
            throw CredentialError(
                .inputOutput, "cannot write to \(UntrustedText.shown(place, limit: 4_096)): \(reason)",
                hint: "df -h '\(place)'")
        }
        try PrivateDirectory.checkCanBeMade("\(place)/line")
        try key.check()
        for name in try folder.names() { _ = try folder.read(name, limit: Self.limit) }
    }

    private var defaultEnd: Timestamp { clock.now.adding(Self.lifetime) }

    private func code(of token: Secret, makesKey: Bool) -> [UInt8]? {
        key.code(of: Array("refresh token of credmgr\n\(token.reveal())".utf8), makesKey: makesKey)
    }

    // MARK: Lines

    /// A token, or the rotation number of a grant.
    private struct Line {
        enum Kind: String {
            case token = "t"
            case grant = "g"
        }

        let kind: Kind
        let name: String
        let number: Int64
        let end: Timestamp

        init(_ kind: Kind, _ name: String, _ number: Int64, _ end: Timestamp) {
            (self.kind, self.name, self.number, self.end) = (kind, name, number, end)
        }

        init?(_ text: Substring) {
            let words = text.split(separator: " ")
            guard words.count == 4, let kind = Kind(rawValue: String(words[0])), let number = Int64(words[2]),
                let end = Int64(words[3])
            else { return nil }
            self.init(kind, String(words[1]), number, Timestamp(epochSeconds: end))
        }

        var bytes: [UInt8] { Array("\(kind.rawValue) \(name) \(number) \(end.epochSeconds)\n".utf8) }
    }

    /// The file of a digest or an id.
    private static func file(of bytes: [UInt8]) -> String {
        let number = Int(bytes[0]) << 4 | Int(bytes[1]) >> 4
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 3 - text.count) + text
    }

    private func lines(of name: String) -> [Line] {
        guard let folder = try? PrivateDirectory.open(Self.folder, below: stateHome),
            let bytes = try? folder.read(name, limit: Self.limit)
        else { return [] }
        return Self.lines(in: bytes)
    }

    private static func lines(in bytes: [UInt8]) -> [Line] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap(Line.init)
    }

    private func append(_ line: Line, to name: String) {
        guard let folder = try? PrivateDirectory.create(Self.folder, below: stateHome) else { return }
        append(line.bytes, to: name, in: folder)
        shorten(name, in: folder)
    }

    /// Appends to the file that has the name afterwards: a line in a file that another process has replaced may be
    /// lost.
    private func append(_ bytes: [UInt8], to name: String, in folder: borrowing PrivateDirectory) {
        for _ in 0..<Self.exchanges {
            guard let file = try? folder.openShared(name, appending: true), file.writeAll(bytes) == 0 else {
                return
            }
            if folder.isCurrent(file, name) { return }
        }
    }

    /// Rewrites a large file without the lines that have ended or are repeated. One process at a time does so. A
    /// line that another process appends meanwhile is at the end of the old file, and is appended to the new one;
    /// later ones see that their file is not the current one.
    private func shorten(_ name: String, in folder: borrowing PrivateDirectory) {
        guard let file = try? folder.openExisting(name, forWriting: true), file.size > Int64(Self.greatestSize),
            FileLock.wait(file, milliseconds: 0) == 0, folder.isCurrent(file, name)
        else { return }
        let before = file.read(Int(file.size), at: 0)
        let now = clock.now
        var kept: [String: Line] = [:]
        for line in Self.lines(in: before) where line.end > now {
            if let other = kept[line.name], other.number > line.number { continue }
            kept[line.name] = line
        }
        let content = kept.values.sorted { $0.end < $1.end }.flatMap(\.bytes)
        // Half of it at least must go, or each line would have the file rewritten.
        guard content.count <= before.count / 2, (try? folder.write(content, to: name)) != nil else { return }
        let late = file.read(max(0, Int(file.size) - before.count), at: Int64(before.count))
        if !late.isEmpty { append(late, to: name, in: folder) }
    }
}
