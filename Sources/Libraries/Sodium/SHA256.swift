import CSodium
import Platform

/// SHA-256 (FIPS 180-4), and the functions that build on it.
package enum SHA256 {
    /// How many bytes a digest has.
    package static let size = 32

    /// The digest of `bytes`.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: size)
        _ = unsafe crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }

    /// A digest of bytes that come in pieces.
    package struct Stream {
        private var state = crypto_hash_sha256_state()

        /// Begins a digest.
        package init() { _ = unsafe crypto_hash_sha256_init(&state) }

        /// Adds bytes.
        package mutating func add(_ bytes: [UInt8]) {
            _ = unsafe crypto_hash_sha256_update(&state, bytes, UInt64(bytes.count))
        }

        /// The digest of all bytes. Call it once.
        package mutating func end() -> [UInt8] {
            var digest = [UInt8](repeating: 0, count: size)
            _ = unsafe crypto_hash_sha256_final(&state, &digest)
            return digest
        }
    }

    /// HMAC (RFC 2104): a digest of `bytes` that cannot be made without the key.
    package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        // Making the code overwrites the parts of the key in this state.
        var state = crypto_auth_hmacsha256_state()
        var code = [UInt8](repeating: 0, count: size)
        _ = unsafe crypto_auth_hmacsha256_init(&state, key, key.count)
        _ = unsafe crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
        _ = unsafe crypto_auth_hmacsha256_final(&state, &code)
        return code
    }

    /// HKDF (RFC 5869): a key for one purpose.
    ///
    /// - Parameters:
    ///   - secret: the source of the key.
    ///   - salt: makes another key for the same purpose; may be empty.
    ///   - info: the purpose.
    ///   - length: how many bytes it has, 1 to 8,160; `nil` comes of any other.
    package static func key(from secret: [UInt8], salt: [UInt8], info: [UInt8], length: Int) -> [UInt8]? {
        guard (1...255 * size).contains(length) else { return nil }
        var extracted = code(of: secret, key: salt)
        var block: [UInt8] = [], output: [UInt8] = []
        defer {
            extracted.wipe()
            block.wipe()
        }
        output.reserveCapacity(length + size)
        var number: UInt8 = 0
        while output.count < length {
            number += 1
            block = code(of: block + info + [number], key: extracted)
            output += block
        }
        output.removeLast(output.count - length)
        return output
    }
}
