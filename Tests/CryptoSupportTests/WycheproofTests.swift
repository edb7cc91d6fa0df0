import CredentialCore
import Foundation
import Sodium
import StrictJSON
import Testing

@testable import CryptoSupport

/// Project Wycheproof's vectors, in Tests/Fixtures.
@Suite struct WycheproofTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures/wycheproof")
    let cryptography = LibCryptography()

    @Test(
        arguments: [
            ("rsa_signature_2048_sha256", .rs256), ("rsa_signature_3072_sha256", .rs256),
            ("rsa_signature_4096_sha256", .rs256), ("rsa_signature_2048_sha384", .rs384),
            ("rsa_signature_2048_sha512", .rs512), ("rsa_signature_3072_sha512", .rs512),
            ("rsa_signature_4096_sha512", .rs512), ("rsa_pss_2048_sha256_mgf1_32", .ps256),
            ("rsa_pss_3072_sha256_mgf1_32", .ps256), ("rsa_pss_4096_sha256_mgf1_32", .ps256),
            ("rsa_pss_2048_sha384_mgf1_48", .ps384), ("rsa_pss_4096_sha384_mgf1_48", .ps384),
            ("rsa_pss_4096_sha512_mgf1_64", .ps512), ("ecdsa_secp256r1_sha256_p1363", .es256),
            ("ecdsa_secp384r1_sha384_p1363", .es384), ("ecdsa_secp521r1_sha512_p1363", .es512), ("ed25519", .edDSA),
        ] as [(String, SignatureAlgorithm)])
    func `signatures are valid exactly if the vectors say so`(_ file: String, _ algorithm: SignatureAlgorithm)
        throws
    {
        var count = 0
        for group in try groups(file) {
            let key = try #require(jwk(group, algorithm))
            for test in tests(group) where test["result"]?.string != "acceptable" {
                let holds = try cryptography.verify(
                    bytes(test, "sig"), of: bytes(test, "msg"), algorithm: algorithm, key: key)
                #expect(holds == (test["result"]?.string == "valid"), "\(test["tcId"]?.integer ?? 0)")
                count += 1
            }
        }
        #expect(count > 50)
    }

    @Test func `ChaCha20-Poly1305 seals and opens as it should`() throws {
        for group in try groups("chacha20_poly1305") where group["ivSize"]?.integer == 96 {
            for test in tests(group) {
                let sealed = bytes(test, "ct") + bytes(test, "tag"), message = bytes(test, "msg")
                let opened = try cryptography.open(
                    sealed, key: bytes(test, "key"), nonce: bytes(test, "iv"), authenticating: bytes(test, "aad"))
                let isValid = test["result"]?.string == "valid"
                #expect(opened == (isValid ? message : nil), "\(test["tcId"]?.integer ?? 0)")
                if isValid {
                    #expect(
                        try cryptography.seal(
                            message, key: bytes(test, "key"), nonce: bytes(test, "iv"),
                            authenticating: bytes(test, "aad")) == sealed)
                }
            }
        }
    }

    @Test func `HKDF derives as it should`() throws {
        for group in try groups("hkdf_sha256") {
            for test in tests(group) where test["result"]?.string == "valid" {
                let length = try #require(test["size"]?.integer.map(Int.init))
                #expect(
                    SHA256.key(
                        from: bytes(test, "ikm"), salt: bytes(test, "salt"), info: bytes(test, "info"),
                        length: length) == bytes(test, "okm"), "\(test["tcId"]?.integer ?? 0)")
            }
        }
    }

    // MARK: Reading

    private func groups(_ file: String) throws -> [JSONObject] {
        let text = Array(try Data(contentsOf: Self.folder.appendingPathComponent("\(file)_test.json")))
        let document = try JSONValue.parse(text, limits: .ownFile).object
        return try #require(document?["testGroups"]?.array).compactMap(\.object)
    }

    private func tests(_ group: JSONObject) -> [JSONObject] { group["tests"]?.array?.compactMap(\.object) ?? [] }

    private func bytes(_ object: JSONObject, _ name: String) -> [UInt8] { hex(object[name]?.string ?? "") }

    private func jwk(_ group: JSONObject, _ algorithm: SignatureAlgorithm) -> JSONObject? {
        guard let key = group["publicKey"]?.object else { return nil }
        func member(_ bytes: some Sequence<UInt8>) -> JSONValue { .string(Base64URL.encode(Array(bytes))) }
        let type = SignatureScheme(algorithm).keyType
        var jwk = JSONObject()
        jwk["kty"] = .string(type.jwkName)
        jwk["crv"] = type.curve.map(JSONValue.string)
        switch type {
        case .rsa:
            jwk["n"] = member(bytes(key, "modulus"))
            jwk["e"] = member(bytes(key, "publicExponent"))
        case .elliptic(_, _, let length):
            jwk["x"] = member(bytes(key, "uncompressed").dropFirst().prefix(length))
            jwk["y"] = member(bytes(key, "uncompressed").suffix(length))
        case .ed25519: jwk["x"] = member(bytes(key, "pk"))
        }
        return jwk
    }
}
