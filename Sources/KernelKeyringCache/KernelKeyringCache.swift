import CLinux
import CredentialCore

/// Access tokens in the kernel's user keyring (`@u`), where each expires by itself and none is ever swapped out.
///
/// All sessions of the user see them. Where the kernel refuses (no keyrings, quota, seccomp) there is no cache and
/// no error.
package struct KernelKeyringCache: AccessTokenCache {
    /// What the descriptions of our keys begin with.
    private static let prefix = "credmgr:"
    /// Everything for the possessor and for the user: with the kernel's own choice another session of the user
    /// finds the key but may not read it.
    private static let permissions: UInt32 = 0x3F3F_0000
    /// A size that holds nearly every entry, in bytes.
    private static let usualSize = 4096

    /// Makes a cache; costs nothing.
    package init() {}

    /// The entry called `name`.
    package func read(_ name: String) -> [UInt8]? {
        let key = unsafe linux_search_user_key(linux_user_keyring, Self.prefix + name)
        if key < 0 { return nil }
        let (first, size) = Self.read(key, capacity: Self.usualSize)
        if size <= Self.usualSize { return size < 0 ? nil : first }
        let (whole, sizeNow) = Self.read(key, capacity: size)
        return sizeNow == size ? whole : nil
    }

    /// Keeps `entry` under `name` for `seconds`; a time of 0 or less drops it.
    ///
    /// When this fails, an older entry is dropped, too: it may be what the new one was to replace.
    package func write(_ entry: [UInt8], name: String, seconds: Int64) {
        if seconds <= 0 || !Self.put(entry, Self.prefix + name, seconds: UInt32(clamping: seconds)) {
            remove(name)
        }
    }

    /// Drops what is kept under `name`.
    package func remove(_ name: String) {
        let key = unsafe linux_search_user_key(linux_user_keyring, Self.prefix + name)
        if key >= 0 { Self.drop(key) }
    }

    /// Drops every entry whose name begins with `prefix`.
    package func removeAll(prefix: String) {
        let wanted = Array((Self.prefix + prefix).utf8)
        for key in Self.keys() where Self.description(of: key)?.starts(with: wanted) == true { Self.drop(key) }
    }

    /// The names of the entries that begin with `prefix`.
    package static func names(prefix: String) -> [String] {
        let wanted = Array((Self.prefix + prefix).utf8)
        return keys().compactMap(description).filter { $0.starts(with: wanted) }
            .map { String(decoding: $0.dropFirst(Self.prefix.utf8.count), as: UTF8.self) }
    }

    // MARK: The kernel

    private static func read(_ key: linux_key, capacity: Int) -> (bytes: [UInt8], size: Int) {
        var size = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, initialized in
            size = unsafe linux_read_key(key, buffer.baseAddress, capacity)
            // Nothing is copied when the buffer is too small.
            initialized = size > 0 && size <= capacity ? size : 0
        }
        return (bytes, size)
    }

    /// The key is finished in the keyring of this process before the user's keyring shows it, in place of its
    /// predecessor: at no moment is there one that does not expire.
    private static func put(_ entry: [UInt8], _ description: String, seconds: UInt32) -> Bool {
        let key = unsafe entry.withUnsafeBytes {
            unsafe linux_add_user_key(description, $0.baseAddress, $0.count, linux_process_keyring)
        }
        if key < 0 { return false }
        defer { _ = linux_unlink_key(key, linux_process_keyring) }
        return linux_set_key_permissions(key, permissions) == 0 && linux_set_key_timeout(key, seconds) == 0
            && linux_link_key(key, linux_user_keyring) == 0
    }

    private static func drop(_ key: linux_key) {
        if linux_invalidate_key(key) != 0 { _ = linux_unlink_key(key, linux_user_keyring) }
    }

    /// The keys in the user's keyring.
    private static func keys() -> [linux_key] {
        let width = MemoryLayout<linux_key>.size
        let needed = linux_read_key(linux_user_keyring, nil, 0)
        if needed <= 0 { return [] }
        return unsafe [linux_key](unsafeUninitializedCapacity: needed / width) { buffer, initialized in
            let size = unsafe linux_read_key(linux_user_keyring, buffer.baseAddress, buffer.count * width)
            initialized = max(0, min(size, needed)) / width
        }
    }

    /// The description of a `user` key.
    private static func description(of key: linux_key) -> [UInt8]? {
        // Type, numbers and permissions come before a description of at most 4,095 bytes.
        let capacity = 4096 + 128
        let bytes = unsafe [CChar](unsafeUninitializedCapacity: capacity) { buffer, initialized in
            let size = unsafe linux_describe_key(key, buffer.baseAddress, capacity)
            initialized = size > 0 && size <= capacity ? size - 1 : 0
        }
        let fields = bytes.split(
            separator: CChar(bitPattern: UInt8(ascii: ";")), maxSplits: 4, omittingEmptySubsequences: false)
        guard fields.count == 5, fields[0].elementsEqual("user".utf8.map { CChar(bitPattern: $0) }) else {
            return nil
        }
        return fields[4].map { UInt8(bitPattern: $0) }
    }
}
