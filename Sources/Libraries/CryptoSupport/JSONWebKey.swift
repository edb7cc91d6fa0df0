import CredentialCore
import StrictJSON

/// A JSON Web Key (RFC 7517) checked for one algorithm, and taken apart for libcrypto.
///
/// That a point lies on its curve is left to libcrypto, that a private key fits its public key to a signature.
struct JSONWebKey {
    /// The key as libcrypto takes it.
    let parameters: [CryptoParameter]

    /// The purpose of a key: the words of `key_ops`.
    enum Purpose: String {
        /// Sign: the private members count.
        case sign
        /// Verify: private members are ignored.
        case verify
    }

    /// Checks a key and takes it apart.
    ///
    /// - Throws: `reason`, without a code of its own: the caller knows the source of the key.
    init(
        _ key: JSONObject, algorithm: SignatureAlgorithm, purpose: Purpose
    ) throws(InvalidKey) {
        let reader = Reader(key: key)
        let type = SignatureScheme(algorithm).keyType
        try reader.require("kty", type.jwkName)
        try reader.requireIfPresent("alg", algorithm.rawValue)
        try reader.requireIfPresent("use", "sig")
        try reader.requireOperation(purpose.rawValue)
        if let curve = type.curve { try reader.require("crv", curve) }
        let isPrivate = purpose == .sign
        switch type {
        case .rsa: parameters = try Self.rsa(reader, isPrivate: isPrivate)
        case .elliptic(_, let group, let length):
            let point = try [4] + reader.coordinate("x", count: length) + reader.coordinate("y", count: length)
            let secret = isPrivate ? [CryptoParameter.number("priv", try reader.octets("d", count: length))] : []
            parameters = [.text("group", group), .octets("pub", point)] + secret
        case .ed25519:
            let secret = isPrivate ? [CryptoParameter.octets("priv", try reader.octets("d", count: 32))] : []
            parameters = [.octets("pub", try reader.octets("x", count: 32))] + secret
        }
    }

    private static func rsa(_ reader: Reader, isPrivate: Bool) throws(InvalidKey) -> [CryptoParameter] {
        let modulus = try reader.number("n")
        let exponent = try reader.number("e")
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard rsaSizes.contains(bits), isOdd(modulus) else {
            throw InvalidKey(
                "its modulus must be odd and have \(rsaSizes.lowerBound) to \(rsaSizes.upperBound) bits")
        }
        guard isOdd(exponent), exponent != [1], exponent.count <= 8 else {
            throw InvalidKey("its exponent must be an odd number from 3 to 64 bits")
        }
        let parts: [CryptoParameter] = [.number("n", modulus), .number("e", exponent)]
        guard isPrivate else { return parts }
        guard reader.key["oth"] == nil else { throw InvalidKey("it has more than two prime factors") }
        let secret = parts + [.number("d", try reader.number("d"))]
        // RFC 7518 §6.3.2: all of the factors' members or no member of them.
        let factors = rsaFactors.filter { reader.key[$0.jwk] != nil }
        if factors.isEmpty { return secret }
        var all = secret
        for factor in rsaFactors { all.append(.number(factor.library, try reader.number(factor.jwk))) }
        return all
    }

    /// The sizes of a modulus that are accepted (RFC 7518 §3.3, and OpenSSL's own limit), in bits.
    static let rsaSizes = 2_048...16_384

    /// The members of a private RSA key beside `d`, and OpenSSL's names of them.
    static let rsaFactors = [
        (jwk: "p", library: "rsa-factor1"), (jwk: "q", library: "rsa-factor2"),
        (jwk: "dp", library: "rsa-exponent1"), (jwk: "dq", library: "rsa-exponent2"),
        (jwk: "qi", library: "rsa-coefficient1"),
    ]

    private static func isOdd(_ number: [UInt8]) -> Bool { number.last.map { $0 & 1 == 1 } ?? false }
}

/// Why a key cannot serve; lower case, no full stop, no part of the key.
struct InvalidKey: Error {
    /// The reason, of which the subject is "it".
    let reason: LocalizedMessage

    /// Makes a reason.
    init(_ reason: LocalizedMessage) { self.reason = reason }
}

/// Reads members of a key.
private struct Reader {
    let key: JSONObject

    func require(_ name: String, _ value: String) throws(InvalidKey) {
        guard let text = key[name]?.string, ConstantTime.equal(text, value) else {
            throw InvalidKey("its '\(name)' must be '\(value)'")
        }
    }

    func requireIfPresent(_ name: String, _ value: String) throws(InvalidKey) {
        if key[name] != nil { try require(name, value) }
    }

    func requireOperation(_ operation: String) throws(InvalidKey) {
        guard let operations = key["key_ops"] else { return }
        guard let names = operations.array, names.contains(where: { $0.string == operation }) else {
            throw InvalidKey("its 'key_ops' does not allow '\(operation)'")
        }
    }

    /// Bytes of a fixed length.
    func octets(_ name: String, count: Int) throws(InvalidKey) -> [UInt8] {
        let bytes = try octets(name)
        guard bytes.count == count else { throw InvalidKey("its '\(name)' must have \(count) bytes") }
        return bytes
    }

    /// A coordinate of a point. Some writers leave out the zeros in front, which RFC 7518 §6.2.1.2 wants.
    func coordinate(_ name: String, count: Int) throws(InvalidKey) -> [UInt8] {
        let bytes = try octets(name)
        guard !bytes.isEmpty, bytes.count <= count else {
            throw InvalidKey("its '\(name)' must have \(count) bytes")
        }
        return [UInt8](repeating: 0, count: count - bytes.count) + bytes
    }

    /// A number without zeros in front; writers that put one there are common (RFC 7518 §6.3.1.1).
    func number(_ name: String) throws(InvalidKey) -> [UInt8] {
        let bytes = Array(try octets(name).drop { $0 == 0 })
        guard !bytes.isEmpty else { throw InvalidKey("its '\(name)' is zero") }
        return bytes
    }

    private func octets(_ name: String) throws(InvalidKey) -> [UInt8] {
        // Twice the largest modulus, in Base64.
        guard let text = key[name]?.string, text.utf8.count <= 5_500, let bytes = Self.decode(text) else {
            throw InvalidKey("its '\(name)' is missing or is not base64url")
        }
        return bytes
    }

    /// Decodes base64url. Some providers write padding, line breaks or the ordinary alphabet (RFC 4648 §4).
    private static func decode(_ text: String) -> [UInt8]? {
        let text = text.utf8.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding == 0 || (padding <= 2 && text.count % 4 == 0) else { return nil }
        let letters = text.dropLast(padding).map { letter in
            letter == UInt8(ascii: "+")
                ? UInt8(ascii: "-") : letter == UInt8(ascii: "/") ? UInt8(ascii: "_") : letter
        }
        return Base64URL.decode(String(decoding: letters, as: UTF8.self))
    }
}
