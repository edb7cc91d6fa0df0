import CredentialCore
import StrictJSON

/// Cryptography that costs little and protects no data: a seal is a checksum under the key, behind the plaintext.
/// Operations that have to fail do fail: another key, another context, a changed byte.
struct ToyCryptography: Cryptography, KeyAgreement {
    let random: any RandomSource

    private static let tagSize = 16
    /// 2^61 - 1.
    private static let prime: UInt64 = (1 << 61) - 1

    func sha256(_ bytes: [UInt8]) -> [UInt8] { Self.digest(bytes) }

    static func digest(_ bytes: [UInt8]) -> [UInt8] { (0..<4).flatMap { Self.bytes(mix([bytes], $0)) } }

    func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]) -> [UInt8] {
        plaintext + tag(plaintext, key, nonce, header)
    }

    func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.tagSize else { return nil }
        let plaintext = Array(sealed.dropLast(Self.tagSize))
        return tag(plaintext, key, nonce, header).elementsEqual(sealed.suffix(Self.tagSize)) ? plaintext : nil
    }

    private func tag(_ plaintext: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ header: [UInt8]) -> [UInt8] {
        (0..<2).flatMap { Self.bytes(Self.mix([key, nonce, header, plaintext], $0)) }
    }

    func deriveKey(from secret: [UInt8], salt: [UInt8], info: String, length: Int) -> [UInt8] {
        let words = (0..<UInt64((length + 7) / 8)).flatMap {
            Self.bytes(Self.mix([secret, salt, Array(info.utf8)], $0))
        }
        return Array(words.prefix(length))
    }

    func makeAgreementKey() -> (privateKey: [UInt8], publicKey: [UInt8]) {
        let secret = random.bytes(8) + [UInt8](repeating: 0, count: 24)
        return (secret, padded(Self.power(3, Self.number(secret))))
    }

    func agree(privateKey: [UInt8], publicKey: [UInt8]) throws(CredentialError) -> [UInt8] {
        guard Self.number(publicKey) != 0 else { throw CredentialError(.validationFailed, "the key is none") }
        return padded(Self.power(Self.number(publicKey), Self.number(privateKey)))
    }

    private func padded(_ number: UInt64) -> [UInt8] { Self.bytes(number) + [UInt8](repeating: 0, count: 24) }

    private static func number(_ bytes: [UInt8]) -> UInt64 {
        bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } % prime
    }

    private static func power(_ base: UInt64, _ exponent: UInt64) -> UInt64 {
        var result: UInt64 = 1, base = base % prime, exponent = exponent
        while exponent > 0 {
            if exponent & 1 == 1 { result = times(result, base) }
            base = times(base, base)
            exponent >>= 1
        }
        return result
    }

    private static func times(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = a.multipliedFullWidth(by: b)
        return prime.dividingFullWidth(product).remainder
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }

    /// FNV-1a over eight bytes at a time, with each part's length, and SplitMix64's end.
    private static func mix(_ parts: [[UInt8]], _ salt: UInt64) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 &+ salt &* 0x9E37_79B9_7F4A_7C15
        for part in parts {
            hash = (hash ^ UInt64(part.count)) &* 0x100_0000_01B3
            unsafe part.withUnsafeBytes { bytes in
                var place = 0
                while place + 8 <= bytes.count {
                    hash =
                        unsafe (hash ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                        &* 0x100_0000_01B3
                    hash ^= hash >> 29
                    place += 8
                }
                while place < bytes.count {
                    hash = unsafe (hash ^ UInt64(bytes[place])) &* 0x100_0000_01B3
                    place += 1
                }
            }
        }
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return hash ^ (hash >> 31)
    }

    // MARK: What nobody asks for here

    private static var unused: CredentialError {
        CredentialError(.internalFault, "the simulation has no such thing")
    }

    func sha384(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] { throw Self.unused }
    func sha512(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] { throw Self.unused }
    func verify(
        _ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm, key: JSONObject
    ) throws(CredentialError) -> Bool { throw Self.unused }
    func sign(
        _ message: [UInt8], algorithm: SignatureAlgorithm, privateKey: Secret
    ) throws(CredentialError) -> [UInt8] { throw Self.unused }
    func generateKey(
        _ algorithm: SignatureAlgorithm
    ) throws(CredentialError) -> (privateKey: Secret, publicJWK: JSONObject) { throw Self.unused }
    func scrypt(
        _ password: [UInt8], salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelism: UInt64, length: Int
    ) throws(CredentialError) -> [UInt8] { Array(Self.digest(password + salt).prefix(length)) }
}
