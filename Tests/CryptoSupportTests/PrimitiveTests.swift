import CredentialCore
import StrictJSON
import Testing

@testable import CryptoSupport
@testable import Sodium

@Suite struct PrimitiveTests {
    let cryptography = LibCryptography()

    @Test func `digests are those of FIPS 180-4's examples`() throws {
        let abc = Array("abc".utf8)
        #expect(
            try cryptography.sha256(abc)
                == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(
            try cryptography.sha256([]) == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        #expect(
            try cryptography.sha256([UInt8](repeating: 0x61, count: 1_000_000))
                == hex("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"))
        #expect(
            try cryptography.sha384(abc)
                == hex(
                    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                        + "8086072ba1e7cc2358baeca134c825a7"))
        #expect(
            try cryptography.sha512(abc)
                == hex(
                    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"))
    }

    @Test func `sealing gives the values in RFC 8439 section 2_8_2`() throws {
        let plaintext = Array(
            ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
                + "sunscreen would be it.").utf8)
        let key = Array(0x80...0x9F as ClosedRange<UInt8>)
        let nonce = hex("070000004041424344454647"), header = hex("50515253c0c1c2c3c4c5c6c7")
        let sealed = hex(
            """
            d31a8d34648e60db7b86afbc53ef7ec2 a4aded51296e08fea9e2b5a736ee62d6
            3dbea45e8ca9671282fafb69da92728b 1a71de0a9e060b2905d6a5b67ecd3b36
            92ddbd7f2d778b8c9803aee328091b58 fab324e4fad675945585808b4831d7bc
            3ff4def08e4b7a9de576d26586cec64b 6116 1ae10b594f09e26a7e902ecbd0600691
            """)
        #expect(try cryptography.seal(plaintext, key: key, nonce: nonce, authenticating: header) == sealed)
        #expect(try cryptography.open(sealed, key: key, nonce: nonce, authenticating: header) == plaintext)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(try cryptography.open(changed, key: key, nonce: nonce, authenticating: header) == nil)
            #expect(
                try cryptography.open(Array(sealed.prefix(index)), key: key, nonce: nonce, authenticating: header)
                    == nil)
        }
        #expect(try cryptography.open(sealed, key: key, nonce: nonce, authenticating: []) == nil)
        let otherKey = key.map { $0 ^ 1 }
        #expect(try cryptography.open(sealed, key: otherKey, nonce: nonce, authenticating: header) == nil)
    }

    @Test func `an empty message can be sealed`() throws {
        let key = [UInt8](repeating: 1, count: 32), nonce = [UInt8](repeating: 0, count: 12)
        let sealed = try cryptography.seal([], key: key, nonce: nonce, authenticating: [])
        #expect(sealed.count == 16)
        #expect(try cryptography.open(sealed, key: key, nonce: nonce, authenticating: []) == [])
    }

    @Test(arguments: [(31, 12), (33, 12), (32, 11), (32, 13), (0, 0)])
    func `a key or nonce of the wrong length is refused`(_ key: Int, _ nonce: Int) {
        #expect(throws: CredentialError.self) {
            try cryptography.seal(
                [1], key: [UInt8](repeating: 0, count: key), nonce: [UInt8](repeating: 0, count: nonce),
                authenticating: [])
        }
    }

    @Test(arguments: [
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ])
    func `HKDF gives the values in RFC 5869`(_ key: String, _ salt: String, _ info: String, _ output: String) throws
    {
        let expected = hex(output)
        #expect(
            SHA256.key(from: hex(key), salt: hex(salt), info: hex(info), length: expected.count) == expected)
        if info.isEmpty {
            #expect(
                try cryptography.deriveKey(from: hex(key), salt: hex(salt), info: "", length: expected.count)
                    == expected)
        }
    }

    @Test(arguments: [
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `HMAC gives the values in RFC 4231`(_ key: [UInt8], _ text: String, _ code: String) {
        #expect(SHA256.code(of: Array(text.utf8), key: key) == hex(code))
    }

    /// Records and files that one of them has made are opened by the other.
    @Test func `libsodium and libcrypto agree`() throws {
        for length in [0, 1, 31, 32, 55, 56, 63, 64, 65, 119, 1_000, 8_160] {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255) }
            let digest = try cryptography.libCrypto.digest(bytes, algorithm: "SHA256")
            #expect(try cryptography.sha256(bytes) == digest)
            let parameters: [CryptoParameter] = [
                .text("digest", "SHA256"), .octets("key", digest), .octets("salt", bytes),
                .octets("info", Array("a purpose".utf8)),
            ]
            let size = max(1, length)
            #expect(
                try cryptography.deriveKey(from: digest, salt: bytes, info: "a purpose", length: size)
                    == cryptography.libCrypto.derive("HKDF", parameters, length: size))
        }
    }

    @Test func `derived keys depend on every input`() throws {
        let inputs: [([UInt8], [UInt8], String)] = [
            ([1], [2], "a"), ([2], [2], "a"), ([1], [3], "a"), ([1], [2], "b"),
        ]
        let keys = try inputs.map { try cryptography.deriveKey(from: $0.0, salt: $0.1, info: $0.2, length: 32) }
        #expect(Set(keys).count == inputs.count)
        for length in [-1, 0, 255 * 32 + 1] {
            #expect(throws: CredentialError.self) {
                try cryptography.deriveKey(from: [1], salt: [], info: "", length: length)
            }
        }
    }

    @Test(
        arguments: [
            (
                "", "", 16, 1, 1,
                "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
                    + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
            ),
            (
                "password", "NaCl", 1_024, 8, 16,
                "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
                    + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
            ),
            (
                "pleaseletmein", "SodiumChloride", 16_384, 8, 1,
                "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                    + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
            ),
        ] as [(String, String, UInt64, UInt64, UInt64, String)])
    func `scrypt gives the values in RFC 7914`(
        _ password: String, _ salt: String, _ cost: UInt64, _ blockSize: UInt64, _ parallelism: UInt64,
        _ output: String
    ) throws {
        #expect(
            try cryptography.scrypt(
                Array(password.utf8), salt: Array(salt.utf8), cost: cost, blockSize: blockSize,
                parallelism: parallelism, length: 64) == hex(output))
    }

    @Test(
        arguments: [
            (0, 8, 1), (1, 8, 1), (3, 8, 1), (1 << 21, 8, 1), (1 << 63, 8, 1), (16, 0, 1), (16, 8, 0),
            (16, .max, 1), (16, 8, .max), (1 << 20, 8, 5),
        ] as [(UInt64, UInt64, UInt64)])
    func `scrypt beyond its limits is refused`(_ cost: UInt64, _ blockSize: UInt64, _ parallelism: UInt64) {
        let error = #expect(throws: CredentialError.self) {
            try cryptography.scrypt(
                [1], salt: [1], cost: cost, blockSize: blockSize, parallelism: parallelism, length: 32)
        }
        #expect(error?.code == .configuration)
    }

    @Test func `a failure of the library carries its reason`() throws {
        let error = #expect(throws: CredentialError.self) {
            try cryptography.libCrypto.key(pem: Array("no key".utf8))
        }
        #expect(error?.details == ["libcrypto: unsupported"])
    }

    @Test func `ECDSA signatures keep their numbers between the two forms`() throws {
        for length in [32, 48, 66] {
            for _ in 0..<200 {
                var raw = (0..<2 * length).map { _ in UInt8.random(in: 0...255) }
                // Numbers with zeros in front, and with the sign bit set.
                for index in 0..<Int.random(in: 0..<length) { raw[index] = 0 }
                raw[length - 1] |= 1
                raw[length] = [0, 1, 0x80].randomElement() ?? 0
                let der = try #require(ECDSASignature.der(fromRaw: raw, length: length))
                #expect(ECDSASignature.raw(fromDER: der, length: length) == raw)
                for end in der.indices {
                    #expect(ECDSASignature.raw(fromDER: Array(der.prefix(end)), length: length) == nil)
                }
            }
        }
    }
}
