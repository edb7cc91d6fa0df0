/// The files that something was concluded from, as they were then: it holds while they are the same.
package struct CacheValidators: Sendable {
    private var members: [(path: String, state: FileStamp?)]

    /// How many files an entry of the cache is tied to at most.
    private static let limit = 256

    /// Looks at files; one that is not there may not come to be, either.
    package init(_ paths: [String], _ files: AnyFileStates) {
        members = []
        for path in paths { members.append((path, files.state(of: path))) }
    }

    /// Whether all are as they were.
    package func hold(_ files: AnyFileStates) -> Bool {
        for member in members where files.state(of: member.path) != member.state { return false }
        return true
    }

    /// Whether they are few enough to be kept.
    package var canBeKept: Bool { members.count <= Self.limit }

    /// Whether every one of them is there.
    var areThere: Bool {
        for member in members where member.state == nil { return false }
        return true
    }

    /// Whether all files were last changed before `time`, in nanoseconds since the epoch: an operation that began
    /// then has seen them as they are here.
    package func areOlder(than time: Int64) -> Bool {
        for member in members {
            if let state = member.state, max(state.changed, state.modified) >= time { return false }
        }
        return true
    }

    // MARK: As bytes

    /// Adds them to an entry of the cache.
    package func write(to writer: inout CacheEntryEncoder) {
        writer.put(Int64(members.count))
        for member in members {
            writer.put(member.path)
            writer.put(member.state == nil ? 0 : 1)
            guard let state = member.state else { continue }
            writer.put(state.device)
            writer.put(state.inode)
            writer.put(state.size)
            writer.put(state.modified)
            writer.put(state.changed)
        }
    }

    /// Reads the output of ``write(to:)``.
    package init?(_ reader: inout CacheEntryDecoder) {
        members = []
        guard let count = reader.integer(), (0...Int64(Self.limit)).contains(count) else { return nil }
        for _ in 0..<count {
            guard let path = reader.string(), let isThere = reader.integer() else { return nil }
            if isThere == 0 {
                members.append((path, nil))
                continue
            }
            guard let device = reader.integer(), let inode = reader.integer(), let size = reader.integer(),
                let modified = reader.integer(), let changed = reader.integer()
            else { return nil }
            members.append(
                (path, FileStamp(device: device, inode: inode, size: size, modified: modified, changed: changed)))
        }
    }
}

/// Which files an answer of the cache depends on, for all who keep one and all who believe one.
package struct CacheDependencies: Sendable {
    /// `$XDG_DATA_HOME/credmgr`.
    package let dataFolder: String

    package init(dataFolder: String) { self.dataFolder = dataFolder }

    /// Returns the files that an account's token depends on: its record.
    package func record(of account: String, in group: String) -> [String] {
        ["\(folder(group))/accounts/\(account)"]
    }

    /// Returns the files that the choice of an account depends on: the group's names and defaults.
    package func choice(in group: String) -> [String] { ["\(folder(group))/index"] }

    private func folder(_ group: String) -> String { "\(dataFolder)/groups/\(group)" }
}
