import Sodium
import Testing

@Suite struct SecretBoxTests {
    @Test func `BoxKeyPair shares a key with its peer, and SecretBox opens what was sealed`() throws {
        let one = try #require(BoxKeyPair(seed: [UInt8](repeating: 1, count: 32)))
        let other = try #require(BoxKeyPair(seed: [UInt8](repeating: 2, count: 32)))
        let key = try #require(one.sharedKey(with: other.publicKey))
        #expect(other.sharedKey(with: one.publicKey) == key)
        let nonce = [UInt8](repeating: 3, count: SecretBox.nonceSize)
        let sealed = try #require(SecretBox.seal([1, 2, 3], key: key, nonce: nonce))
        #expect(sealed.count == 3 + SecretBox.overhead)
        #expect(SecretBox.open(sealed, key: key, nonce: nonce) == [1, 2, 3])
        var changed = sealed
        changed[0] ^= 1
        #expect(SecretBox.open(changed, key: key, nonce: nonce) == nil)
        #expect(SecretBox.open(Array(sealed.prefix(15)), key: key, nonce: nonce) == nil)
    }

    @Test func `BoxKeyPair refuses the zero key and keys of another length`() throws {
        let pair = try #require(BoxKeyPair())
        #expect(pair.sharedKey(with: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(pair.sharedKey(with: [1]) == nil)
        #expect(BoxKeyPair(seed: [1]) == nil)
    }

    @Test func `SHA256.Stream gives the digest of the pieces together`() {
        var stream = SHA256.Stream()
        stream.add([1, 2])
        stream.add([])
        stream.add([3])
        #expect(stream.end() == SHA256.digest([1, 2, 3]))
    }
}
