import CredentialCore
import CryptoSupport
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct KeyTests {
    let cryptography = LibCryptography()

    @Test(
        arguments: [
            ("kty", "EC"), ("kty", "rsa"), ("kty", nil), ("kty", 1), ("use", "enc"), ("use", 1), ("alg", "RS384"),
            ("alg", "HS256"), ("key_ops", ["sign"]), ("key_ops", "verify"), ("key_ops", []), ("n", nil), ("e", nil),
            ("n", "AQAB"), ("n", "!"), ("n", ""), ("e", "AQ"), ("e", "AA"), ("e", "Ag"), ("e", ""), ("e", "AQAB="),
            ("e", "AQAAAAAAAAAAAAAB"),
        ] as [(String, JSONValue?)])
    func `an RSA key that must not verify RS256 is refused`(_ name: String, _ value: JSONValue?) {
        expectRefusal(PrintedSignature.rs256, name, value)
    }

    @Test(
        arguments: [
            ("kty", "RSA"), ("kty", "oct"), ("crv", "P-384"), ("crv", "secp256k1"), ("crv", nil), ("x", nil),
            ("y", nil), ("x", "AA"), ("y", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"), ("use", "enc"),
            ("x", "AAfzc4ncPbEXUGDy-5v20t7WAczNXvp7xO6z248e9FURQ"),
        ] as [(String, JSONValue?)])
    func `an elliptic key that must not verify ES256 is refused`(_ name: String, _ value: JSONValue?) {
        expectRefusal(PrintedSignature.es256, name, value)
    }

    @Test(
        arguments: [("kty", "EC"), ("crv", "X25519"), ("crv", "Ed448"), ("x", nil), ("x", "AAAA")]
            as [(String, JSONValue?)])
    func `an Edwards key that must not verify is refused`(_ name: String, _ value: JSONValue?) {
        expectRefusal(PrintedSignature.edDSA, name, value)
    }

    @Test func `a key of one algorithm does not serve for another`() {
        for printed in PrintedSignature.all {
            for algorithm in SignatureAlgorithm.allCases
            where algorithm.rawValue.prefix(2) != "RS"
                && algorithm.rawValue.prefix(2) != "PS" && algorithm != printed.algorithm
            {
                let error = #expect(throws: CredentialError.self) {
                    try cryptography.verify([1], of: [1], algorithm: algorithm, key: printed.key)
                }
                #expect(error?.code == .validationFailed)
            }
        }
    }

    @Test func `members that allow it, and private ones, do not keep a key from verifying`() throws {
        let printed = PrintedSignature.es256
        let key = printed.key.with([
            "use": "sig", "alg": "ES256", "key_ops": ["verify", "sign"], "kid": "1", "d": "AA", "x5c": ["?"],
        ])
        #expect(
            try cryptography.verify(
                base64url(printed.signature), of: Array(printed.message.utf8), algorithm: .es256, key: key))
    }

    @Test func `a modulus with a zero in front is the same modulus`() throws {
        let printed = PrintedSignature.rs256
        let modulus = base64url(try #require(printed.key["n"]?.string))
        let key = printed.key.with(["n": .string(Base64URL.encode([0] + modulus))])
        #expect(
            try cryptography.verify(
                base64url(printed.signature), of: Array(printed.message.utf8), algorithm: .rs256, key: key))
    }

    @Test(arguments: [
        (
            "RFC 7638 3.1", "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
            """
            {"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc\
            _BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQM\
            icAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksIN\
            HaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}
            """
        ),
        (
            "RFC 8037 A.3", "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
            """
            {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
            """
        ),
        (
            "RFC 9449 6.1", "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I",
            """
            {"kty":"EC","x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",\
            "y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA","crv":"P-256"}
            """
        ),
    ])
    func `thumbprints are those printed`(_ source: String, _ expected: String, _ text: String) throws {
        let key = try #require(try JSONValue.parse(text).object)
        #expect(try cryptography.thumbprint(of: key) == expected, "\(source)")
    }

    @Test func `a key without its members has no thumbprint`() {
        for key in [["kty": "oct", "k": "AA"], ["kty": "RSA", "n": "AQAB"], [:]] as [JSONValue] {
            let error = #expect(throws: CredentialError.self) { try cryptography.thumbprint(of: jwk(key)) }
            #expect(error?.code == .validationFailed)
        }
    }

    @Test func `a new key shows its public members only`() throws {
        let rsa = try cryptography.generateKey(.rs256).publicJWK
        #expect(rsa.keys == ["kty", "n", "e"])
        #expect(base64url(rsa["n"]?.string ?? "").count == 256)
        #expect(try cryptography.generateKey(.es256).publicJWK.keys == ["kty", "crv", "x", "y"])
        #expect(try cryptography.generateKey(.edDSA).publicJWK.keys == ["kty", "crv", "x"])
    }

    @Test(
        arguments: [
            (["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], .ps384, true),
            (["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], .rs256, false),
            (["genrsa", "-traditional", "2048"], .rs256, true),
            (["genrsa", "-aes128", "-passout", "pass:secret", "2048"], .rs256, false),
            (["ecparam", "-name", "prime256v1", "-genkey", "-noout"], .es256, true),
            (["ecparam", "-name", "prime256v1", "-genkey"], .es256, true),
            (["ecparam", "-name", "secp384r1", "-genkey", "-noout"], .es256, false),
            (["ecparam", "-name", "secp256k1", "-genkey", "-noout"], .es256, false),
            (["genpkey", "-algorithm", "ED25519"], .edDSA, true),
            (["genpkey", "-algorithm", "ED448"], .edDSA, false),
            (["genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"], .ps256, false),
            (["rand", "-hex", "16"], .rs256, false),
        ] as [([String], SignatureAlgorithm, Bool)])
    func `a PEM key signs if it is of the algorithm's kind and size and not encrypted`(
        _ command: [String], _ algorithm: SignatureAlgorithm, _ serves: Bool
    ) throws {
        let made = try ChildProcess("openssl", command).run()
        try #require(made.exitStatus == 0)
        let sign = {
            try cryptography.sign([1, 2, 3], algorithm: algorithm, privateKey: Secret(made.standardOutput))
        }
        if serves {
            // Each signature is verified before it is given out.
            #expect(try !sign().isEmpty)
        } else {
            #expect(#expect(throws: CredentialError.self) { try sign() }?.code == .configuration)
        }
    }

    @Test(arguments: ["", "{", "{}", "[]", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func `a text that is no private key is refused without showing it`(_ text: String) {
        let error = #expect(throws: CredentialError.self) {
            try cryptography.sign([1], algorithm: .es256, privateKey: Secret(text))
        }
        #expect(error?.code == .configuration)
    }

    @Test func `a public key does not sign`() throws {
        for algorithm in [SignatureAlgorithm.rs256, .es256, .edDSA] {
            let key = JSONValue.object(try cryptography.generateKey(algorithm).publicJWK).text()
            let error = #expect(throws: CredentialError.self) {
                try cryptography.sign([1], algorithm: algorithm, privateKey: Secret(key))
            }
            #expect(error?.code == .configuration)
        }
    }

    private func expectRefusal(
        _ printed: PrintedSignature, _ name: String, _ value: JSONValue?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: CredentialError.self, sourceLocation: sourceLocation) {
            try cryptography.verify(
                base64url(printed.signature), of: Array(printed.message.utf8), algorithm: printed.algorithm,
                key: printed.key.with([name: value]))
        }
        #expect(error?.code == .validationFailed, sourceLocation: sourceLocation)
    }
}
