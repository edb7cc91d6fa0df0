package import CredentialCore
import LinuxPlatform
import StrictJSON

/// The registries of the groups: `accounts.json` in each group's folder.
///
/// Reading takes no lock, for the file is only ever replaced as a whole. A damaged one is set aside as
/// `accounts.json.corrupt-TIME`; an empty one that says ``AccountRegistry/needsRebuild`` takes its place, so that
/// nothing is forgotten when a sign-in comes before the rebuilding.
package struct RegistryFile: RegistryStore {
    /// The largest file read, in bytes.
    private static let limit = 64 << 20
    /// How long to wait for another process that changes the registry, in seconds.
    private static let patience = 10

    private let folders: GroupFolders
    private let clock: any WallClock
    private let warn: @Sendable (String) -> Void

    /// Keeps the registries of the groups in `folders`.
    ///
    /// - Parameter warn: takes a sentence for the user when a damaged file was set aside.
    package init(
        _ folders: GroupFolders, clock: any WallClock, warn: @escaping @Sendable (String) -> Void
    ) {
        self.folders = folders
        self.clock = clock
        self.warn = warn
    }

    /// The registry of `group`; an empty one where there is none yet.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/unsupported`` for a file of a newer version;
    ///   ``ErrorCode/storeDamaged`` for a damaged one that could not be set aside.
    package func read(_ group: KeychainGroup) throws(CredentialError) -> AccountRegistry {
        guard let folder = try folders.open(of: group) else { return AccountRegistry() }
        if let registry = try load(folder) { return registry }
        let lock = try lock(group)
        defer { lock.release() }
        return try loadOrSetAside(folder)
    }

    /// Changes the registry of `group` under its lock: reads, changes, replaces atomically.
    ///
    /// - Throws: as ``read(_:)``; ``ErrorCode/lockTimeout``; what `change` throws.
    package func update<Result>(
        _ group: KeychainGroup, _ change: (inout AccountRegistry) throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        let folder = try folders.create(of: group)
        let lock = try lock(group)
        defer { lock.release() }
        let before = try loadOrSetAside(folder)
        var registry = before
        let result = try change(&registry)
        if registry != before { try write(registry, folder) }
        return result
    }

    /// The groups that have a registry, sorted by name.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func groups() throws(CredentialError) -> [KeychainGroup] {
        var groups: [KeychainGroup] = []
        for group in try folders.groups() {
            guard let folder = try folders.open(of: group) else { continue }
            if try folder.names().contains(GroupFolders.registryName) { groups.append(group) }
        }
        return groups
    }

    // MARK: The file

    /// The registry, or `nil` when the file is damaged.
    private func load(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> AccountRegistry? {
        guard let bytes = try folder.read(GroupFolders.registryName, limit: Self.limit) else {
            return AccountRegistry()
        }
        guard let document = try? JSONValue.parse(bytes, limits: .ownFile), let members = document.object else {
            return nil
        }
        do {
            return try AccountRegistry(json: members)
        } catch {
            if error.code == .storeDamaged { return nil }
            throw CredentialError(
                error.code, "\(error.message): \(folder.path(of: GroupFolders.registryName))", hint: error.hint)
        }
    }

    /// The registry; under the lock.
    private func loadOrSetAside(
        _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> AccountRegistry {
        if let registry = try load(folder) { return registry }
        let damaged = folder.path(of: GroupFolders.registryName)
        let name = "\(GroupFolders.registryName).corrupt-\(clock.now.rfc3339)"
        var registry = AccountRegistry()
        registry.needsRebuild = true
        do {
            try folder.rename(GroupFolders.registryName, to: name)
            try write(registry, folder)
        } catch {
            throw CredentialError(
                .storeDamaged, "the registry \(damaged) is damaged and could not be set aside: \(error.message)",
                hint: error.hint)
        }
        warn("the registry \(damaged) is damaged; it was set aside as \(name)")
        return registry
    }

    private func write(
        _ registry: AccountRegistry, _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) {
        let text = JSONValue.object(registry.json).bytes(.indented)
        try folder.write(text + [0x0A], to: GroupFolders.registryName)
    }

    private func lock(_ group: KeychainGroup) throws(CredentialError) -> FileLock {
        let folder = try folders.create(.locks, of: group)
        if let lock = try FileLock.take("registry.lock", in: folder, seconds: Self.patience) { return lock }
        throw CredentialError(
            .lockTimeout, "another process has held the registry of group '\(group)' for \(Self.patience) s",
            hint: "try again")
    }
}
