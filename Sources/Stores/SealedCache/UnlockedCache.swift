package import CredentialCore
import Platform
import Sodium

/// The cache with its key at hand.
package final class UnlockedCache: AccessTokenCache {
    private let folder: RuntimeDirectory
    private let keys: SplitCacheKey
    private let clock: AnyWallClock

    /// How a file begins: its type, and the version of its form.
    private static let mark = Array("credmgr1".utf8)
    private static let headSize = 16 + SplitKey.nonceSize
    private static let shards: UInt8 = 64
    private static let keyFolder = "keys"
    /// The largest file, and the largest sum in one folder, in bytes.
    private static let sizeLimit = 256 << 10
    /// How many files one folder has at most.
    private static let countLimit = 64
    /// How long a file may be in the making, in seconds.
    private static let patience: Int64 = 60
    private static let usualSize = 4096

    init(_ folder: consuming RuntimeDirectory, _ keys: SplitCacheKey, _ clock: AnyWallClock) {
        self.folder = folder
        self.keys = keys
        self.clock = clock
    }

    package func read(_ name: CacheKey) -> [UInt8]? {
        guard let file = folder.read(place(of: name).path, limit: Self.sizeLimit), file.count > Self.headSize else {
            return nil
        }
        let head = Array(file[..<16])
        guard head.starts(with: Self.mark), let end = Self.end(in: file), end > clock.now else { return nil }
        return keys.key.open(
            Array(file[Self.headSize...]), nonce: Array(file[16..<Self.headSize]), context: Self.context(head, name)
        )
    }

    package func write(_ entry: [UInt8], name: CacheKey, seconds: Int64) {
        let place = place(of: name)
        if seconds <= 0 || !put(entry, name, at: place.path, end: clock.now.adding(seconds)) {
            // The entry there may be the one that the new entry was to replace.
            folder.remove(place.path)
        }
        sweep(place.folder, keepsAll: name.isKey)
    }

    package func remove(_ name: CacheKey) { folder.remove(place(of: name).path) }

    package func removeAll(ofOwner name: CacheKey) {
        let place = place(of: name)
        for file in folder.names(in: place.folder) where file.hasPrefix(place.owner) {
            folder.remove(place.folder + "/" + file)
        }
    }

    package func removeTokens() {
        for shard in 0..<Self.shards { folder.removeFolder(keys.folder + "/" + Self.hex([shard])) }
    }

    package func check() throws(CredentialError) {
        let entry = SystemRandom().bytes(Self.usualSize)
        defer { remove(.trial) }
        write(entry, name: .trial, seconds: Self.patience)
        guard read(.trial) == entry else {
            let path = folder.folder.path
            throw CredentialError(
                .unsupported, "cannot store an entry of \(Self.usualSize) bytes in \(path)",
                hint: "check whether the file system is full: df '\(path)'")
        }
    }

    // MARK: Files

    private func put(_ entry: [UInt8], _ name: CacheKey, at path: String, end: Timestamp) -> Bool {
        var head = Self.mark
        var rest = UInt64(bitPattern: end.epochSeconds)
        for _ in 0..<8 {
            head.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
        let nonce = SystemRandom().bytes(SplitKey.nonceSize)
        let file = head + nonce + keys.key.seal(entry, nonce: nonce, context: Self.context(head, name))
        return file.count <= Self.sizeLimit && folder.put(file, at: path, end: end)
    }

    private static func end(in file: [UInt8]) -> Timestamp? {
        var seconds: UInt64 = 0
        for index in 0..<8 { seconds |= UInt64(file[mark.count + index]) << UInt64(8 * index) }
        return Timestamp(epochSeconds: Int64(bitPattern: seconds))
    }

    /// The context that a sealed entry is bound to: an entry under another's name does not open, nor does one whose
    /// end was moved.
    private static func context(_ head: [UInt8], _ name: CacheKey) -> [UInt8] {
        var context = head
        context.append(contentsOf: name.owner.utf8)
        context.append(0)
        context.append(contentsOf: name.detail.utf8)
        return context
    }

    private func place(of name: CacheKey) -> (folder: String, owner: String, path: String) {
        let owner = keys.key.name(of: Array(name.owner.utf8), size: 16)
        var whole = owner
        whole.append(contentsOf: name.detail.utf8)
        let detail = keys.key.name(of: whole, size: 16)
        let folder = keys.folder + "/" + (name.isKey ? Self.keyFolder : Self.hex([owner[0] % Self.shards]))
        let ownerText = Self.hex(owner)
        return (folder, ownerText, folder + "/" + ownerText + Self.hex(detail))
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Removes the entries that have ended, and, if that is not enough, those that end first.
    private func sweep(_ path: String, keepsAll: Bool) {
        let now = clock.now
        var left: [RuntimeDirectory.Entry] = []
        for entry in folder.entries(in: path) {
            // One that is being made has the time of its making yet.
            let isTemporary = entry.name.utf8.first == UInt8(ascii: ".")
            if entry.end.adding(isTemporary ? Self.patience : 0) <= now {
                folder.remove(path + "/" + entry.name)
            } else {
                left.append(entry)
            }
        }
        var size = left.reduce(0) { $0 + $1.size }
        guard !keepsAll, left.count > Self.countLimit || size > Self.sizeLimit else { return }
        left.sort { $0.end > $1.end }
        while left.count > Self.countLimit || size > Self.sizeLimit, let first = left.popLast() {
            folder.remove(path + "/" + first.name)
            size -= first.size
        }
    }
}
