/// A key inside libcrypto, freed (and wiped by the library) with its last reference.
@safe final class LibCryptoKey: @unchecked Sendable {
    /// The library's handle of the key; never changed after the key was made.
    let handle: OpaquePointer
    private let free: @convention(c) (OpaquePointer?) -> Void

    /// Takes over `handle`, to be released by `free`.
    @unsafe init(_ handle: OpaquePointer, free: @escaping @convention(c) (OpaquePointer?) -> Void) {
        unsafe self.handle = unsafe handle
        unsafe self.free = unsafe free
    }

    deinit { unsafe free(handle) }

    /// The source of the numbers of a key.
    enum Source {
        /// From parameters that make a public key.
        case publicKey
        /// From parameters that make a key pair.
        case keyPair
        /// From chance; parameters name the kind of key.
        case chance
    }
}
