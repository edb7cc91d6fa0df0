import CredentialCore
import Platform
import StrictJSON

/// Signs and verifies by one algorithm of JWS.
struct JWSSigner {
    private let library: LibCrypto
    private let algorithm: SignatureAlgorithm
    private let scheme: SignatureScheme

    /// Prepares an algorithm.
    init(_ library: LibCrypto, _ algorithm: SignatureAlgorithm) {
        self.library = library
        self.algorithm = algorithm
        self.scheme = SignatureScheme(algorithm)
    }

    /// Whether the signature holds under a public JWK.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when the key cannot serve.
    func verify(_ signature: [UInt8], of message: [UInt8], key: JSONObject) throws(CredentialError) -> Bool {
        let key = try imported(key, purpose: .verify, code: .validationFailed)
        return try verify(signature, of: message, key: key)
    }

    /// Signs with a private key, PEM or JWK.
    ///
    /// - Throws: ``ErrorCode/configuration`` when the key cannot be read or cannot serve.
    func sign(_ message: [UInt8], privateKey: Secret) throws(CredentialError) -> [UInt8] {
        let key = try imported(privateKey)
        let made: [UInt8]
        do {
            made = try library.sign(message, key: key, digest: scheme.digest, parameters: scheme.parameters)
        } catch {
            throw unusable("it cannot sign", code: .configuration, error)
        }
        let signature: [UInt8]
        if case .elliptic(_, _, let length) = scheme.keyType {
            guard let raw = ECDSASignature.raw(fromDER: made, length: length) else {
                throw CredentialError(.internalFault, "libcrypto returned an invalid signature")
            }
            signature = raw
        } else {
            signature = made
        }
        // A signature by a private key that is not that of the public one, or by a computation gone wrong, may
        // give the private key away: it must not leave this place.
        guard try verify(signature, of: message, key: key) else {
            throw unusable("its private and public parts do not match", code: .configuration)
        }
        return signature
    }

    private func verify(_ signature: [UInt8], of message: [UInt8], key: LibCryptoKey) throws(CredentialError)
        -> Bool
    {
        var signature = signature
        if case .elliptic(_, _, let length) = scheme.keyType {
            guard let der = ECDSASignature.der(fromRaw: signature, length: length) else { return false }
            signature = der
        }
        return try library.verify(
            signature, of: message, key: key, digest: scheme.digest, parameters: scheme.parameters)
    }

    private func imported(_ privateKey: Secret) throws(CredentialError) -> LibCryptoKey {
        var text = Array(privateKey.reveal().utf8)
        defer { text.wipe() }
        guard text.first(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "{") else {
            return try imported(pem: text)
        }
        guard let key = try? JSONValue.parse(text).object else {
            throw unusable("it is not a JSON Web Key", code: .configuration)
        }
        return try imported(key, purpose: .sign, code: .configuration)
    }

    private func imported(pem: [UInt8]) throws(CredentialError) -> LibCryptoKey {
        let key: LibCryptoKey
        do {
            key = try library.key(pem: pem)
        } catch {
            throw unusable(
                "it is neither a JSON Web Key nor an unencrypted private key in PEM", code: .configuration, error)
        }
        let fits =
            switch scheme.keyType {
            case .rsa: JSONWebKey.rsaSizes.contains(library.bits(of: key))
            case .elliptic(_, let group, _): library.curve(of: key) == group
            case .ed25519: true
            }
        guard fits, library.isKey(key, of: scheme.keyType.libraryName) else {
            throw unusable("it has a different type or size", code: .configuration)
        }
        return key
    }

    private func imported(
        _ key: JSONObject, purpose: JSONWebKey.Purpose, code: ErrorCode
    ) throws(CredentialError) -> LibCryptoKey {
        let checked: JSONWebKey
        do throws(InvalidKey) {
            checked = try JSONWebKey(key, algorithm: algorithm, purpose: purpose)
        } catch {
            throw unusable(error.reason, code: code)
        }
        do {
            return try library.key(
                type: scheme.keyType.libraryName, parameters: checked.parameters,
                from: purpose == .sign ? .keyPair : .publicKey)
        } catch {
            throw unusable("its parameters are not a valid key", code: code, error)
        }
    }

    private func unusable(_ reason: LocalizedMessage, code: ErrorCode, _ cause: CredentialError? = nil)
        -> CredentialError
    {
        CredentialError(
            code, "the key cannot be used for \(algorithm.rawValue): \(reason)", details: cause?.details ?? [])
    }
}
