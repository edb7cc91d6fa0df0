import CLinux
import Glibc

/// One key in the kernel's user keyring (`@u`, keyrings(7)), which all sessions of the user share and no file
/// shows.
///
/// It can be read by possession only (0x3f000000): a process that was not given the keyring cannot read it by its
/// number.
package struct UserKeyringKey: Sendable {
    /// The number, which no other key of this machine has.
    package let number: Int32
    /// The payload.
    package let bytes: [UInt8]

    /// Why there is no key.
    package enum Failure: Error, Hashable {
        /// No key has that name.
        case missing
        /// The kernel, or a filter of system calls, refuses keys; the number of the error.
        case refused(Int32)
        /// The user has as many keys as the kernel allows, or as many bytes of them.
        case quotaIsUsedUp
    }

    private static let possessorOnly: UInt32 = 0x3F00_0000
    private static let largest = 128

    /// The key called `name`.
    package static func find(_ name: String) throws(Failure) -> UserKeyringKey {
        let number = unsafe linux_search_user_key(linux_user_keyring, name)
        if number < 0 { throw failure(errno) }
        if let bytes = read(number) { return UserKeyringKey(number: number, bytes: bytes) }
        guard errno == EACCES else { throw failure(errno) }
        // In a session that was not given the user's keyring, as a service's: possession then comes from the
        // keyring of this process. It lives as long as the process and counts against the quota, so it is made in
        // this case only.
        guard linux_link_key(linux_user_keyring, linux_process_keyring) == 0, let bytes = read(number) else {
            throw failure(errno)
        }
        return UserKeyringKey(number: number, bytes: bytes)
    }

    /// Makes a key called `name`, unless another process does so at the same moment: then this returns the other
    /// one. It never overwrites an existing key.
    package static func make(_ name: String, _ bytes: [UInt8]) throws(Failure) -> UserKeyringKey {
        // It is finished in the keyring of this process before the user's keyring shows it.
        let number = unsafe bytes.withUnsafeBytes {
            unsafe linux_add_user_key(name, $0.baseAddress, $0.count, linux_process_keyring)
        }
        if number < 0 { throw failure(errno) }
        guard linux_set_key_permissions(number, possessorOnly) == 0 else {
            let reason = errno
            _ = linux_unlink_key(number, linux_process_keyring)
            throw failure(reason)
        }
        if linux_move_new_key(number, linux_process_keyring, linux_user_keyring) != 0 {
            let reason = errno
            // One that was revoked is in the way and can be found no more.
            var isLinked = false
            if reason == EEXIST, unsafe linux_search_user_key(linux_user_keyring, name) < 0 {
                isLinked = linux_link_key(number, linux_user_keyring) == 0
            }
            _ = linux_unlink_key(number, linux_process_keyring)
            if !isLinked, reason != EEXIST { throw failure(reason) }
        }
        return try find(name)
    }

    /// Takes the key out of the user's keyring.
    package func drop() { _ = linux_unlink_key(number, linux_user_keyring) }

    /// Whether the machine has no key of this number any more, in any keyring.
    package static func isGone(_ number: Int32) -> Bool {
        // One that may not be looked at is there.
        if linux_describe_key(number, nil, 0) >= 0 { return false }
        return errno == ENOKEY || errno == EKEYREVOKED || errno == EKEYEXPIRED
    }

    private static func read(_ number: linux_key) -> [UInt8]? {
        var size = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: largest) { buffer, initialized in
            size = unsafe linux_read_key(number, buffer.baseAddress, largest)
            // The kernel copies no bytes when the buffer is too small.
            initialized = size > 0 && size <= largest ? size : 0
        }
        return size < 0 ? nil : bytes
    }

    private static func failure(_ number: Int32) -> Failure {
        switch number {
        case ENOKEY, EKEYREVOKED, EKEYEXPIRED: .missing
        case EDQUOT, ENOMEM: .quotaIsUsedUp
        default: .refused(number)
        }
    }
}
