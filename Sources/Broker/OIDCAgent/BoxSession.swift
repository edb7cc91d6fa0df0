/// The keys of one encrypted connection of oidc-agent.
public struct BoxSession: Sendable {
    /// Our public key of X25519.
    public let publicKey: [UInt8]
    /// The bytes of a nonce.
    public let nonceSize: Int
    /// The bytes that sealing adds.
    public let overhead: Int
    /// Makes a nonce.
    public let nonce: @Sendable () -> [UInt8]
    /// Seals a reply with a nonce.
    public let seal: @Sendable (_ plain: [UInt8], _ nonce: [UInt8]) -> [UInt8]?
    /// Opens a request with a nonce; `nil` for one that was changed.
    public let open: @Sendable (_ sealed: [UInt8], _ nonce: [UInt8]) -> [UInt8]?

    /// Makes a session.
    public init(
        publicKey: [UInt8], nonceSize: Int, overhead: Int, nonce: @escaping @Sendable () -> [UInt8],
        seal: @escaping @Sendable ([UInt8], [UInt8]) -> [UInt8]?,
        open: @escaping @Sendable ([UInt8], [UInt8]) -> [UInt8]?
    ) {
        self.publicKey = publicKey
        self.nonceSize = nonceSize
        self.overhead = overhead
        self.nonce = nonce
        self.seal = seal
        self.open = open
    }
}

/// The encryption of oidc-agent: libsodium's `crypto_kx` and `crypto_secretbox`.
public protocol BoxCryptography: Sendable {
    /// Makes the keys for a client's public key; `nil` for one that is refused, as the zero key is.
    func makeSession(with peer: [UInt8]) -> BoxSession?
}
