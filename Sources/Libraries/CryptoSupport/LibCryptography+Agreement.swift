package import CredentialCore

extension LibCryptography: KeyAgreement {
    private static let keySize = 32

    package func makeAgreementKey() throws(CredentialError) -> (privateKey: [UInt8], publicKey: [UInt8]) {
        let library = try libCrypto
        let key = try library.key(type: "X25519", parameters: [], from: .chance)
        return (try library.octets("priv", of: key), try library.octets("pub", of: key))
    }

    package func agree(privateKey: [UInt8], publicKey: [UInt8]) throws(CredentialError) -> [UInt8] {
        guard privateKey.count == Self.keySize, publicKey.count == Self.keySize else { throw Self.noKey }
        let library = try libCrypto
        let own = try library.key(
            type: "X25519", parameters: [.octets("priv", privateKey)], from: .keyPair)
        let other = try library.key(type: "X25519", parameters: [.octets("pub", publicKey)], from: .publicKey)
        // The library refuses the secret that is all zeros.
        guard let secret = library.agree(own, other), secret.contains(where: { $0 != 0 }) else { throw Self.noKey }
        return secret
    }

    private static var noKey: CredentialError {
        CredentialError(.validationFailed, "a key of a host is not an X25519 key")
    }
}
