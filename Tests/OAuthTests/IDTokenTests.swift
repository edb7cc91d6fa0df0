import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON
import Testing

/// A provider's signing keys and a token made of parts that a test may spoil.
private struct Minter {
    static let cryptography = LibCryptography()
    static let now = Timestamp(epochSeconds: 1_700_000_000)

    let keys: [SignatureAlgorithm: (privateKey: Secret, publicJWK: JSONObject)]

    init(_ algorithms: SignatureAlgorithm...) throws {
        var keys: [SignatureAlgorithm: (Secret, JSONObject)] = [:]
        for algorithm in algorithms {
            var (privateKey, publicKey) = try Self.cryptography.generateKey(algorithm)
            publicKey["kid"] = .string("key-" + algorithm.rawValue)
            publicKey["use"] = "sig"
            keys[algorithm] = (privateKey, publicKey)
        }
        self.keys = keys
    }

    static func claims() -> JSONObject {
        JSONValue.object(JSONObject()).merging([
            "iss": "https://op.example", "sub": "ada", "aud": "app", "exp": 1_700_003_600, "iat": 1_700_000_000,
            "nonce": "n-1",
        ])
    }

    func token(
        _ algorithm: SignatureAlgorithm, claims: JSONObject = claims(), header: JSONObject? = nil
    ) throws -> String {
        var head = JSONObject()
        head["alg"] = .string(algorithm.rawValue)
        head["kid"] = .string("key-" + algorithm.rawValue)
        let input =
            Base64URL.encode(JSONValue.object(header ?? head).bytes()) + "."
            + Base64URL.encode(JSONValue.object(claims).bytes())
        let key = try #require(keys[algorithm])
        let signature = try Self.cryptography.sign(
            Array(input.utf8), algorithm: algorithm, privateKey: key.privateKey)
        return input + "." + Base64URL.encode(signature)
    }

    var keySet: JWKSet {
        get throws {
            var document = JSONObject()
            document["keys"] = .array(keys.values.map { .object($0.publicJWK) })
            return try JWKSet(document)
        }
    }

    func validate(
        _ token: String, with keys: JWKSet? = nil, _ change: (inout IDTokenValidator) -> Void = { _ in }
    ) throws -> IDTokenClaims {
        var validator = IDTokenValidator(
            issuer: "https://op.example", clientID: "app", algorithms: SignatureAlgorithm.allCases, now: Self.now)
        validator.nonce = "n-1"
        change(&validator)
        let keys = try keys ?? keySet
        return try validator.validate(token, cryptography: Self.cryptography) {
            (algorithm, kid) throws(CredentialError) in keys.candidates(for: algorithm, kid: kid).keys
        }
    }
}

extension JSONValue {
    /// The object with members set, or removed if the value is `null`.
    fileprivate func merging(_ changes: JSONObject) -> JSONObject {
        var object = object ?? JSONObject()
        for (name, value) in changes.members { object[name] = value == .null ? nil : value }
        return object
    }

    fileprivate func merging(_ changes: JSONValue) -> JSONObject { merging(changes.object ?? JSONObject()) }
}

@Suite struct IDTokenTests {
    private static let shared = Result { try Minter(.rs256, .es256, .edDSA) }
    private var minter: Minter { get throws { try Self.shared.get() } }

    private func spoiled(_ changes: JSONValue) -> JSONObject {
        JSONValue.object(Minter.claims()).merging(changes)
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256, .edDSA])
    func `accepts a good token of each kind of key`(algorithm: SignatureAlgorithm) throws {
        let claims = try minter.validate(try minter.token(algorithm))
        #expect(claims.subject == "ada")
        #expect(claims.issuer == "https://op.example")
        #expect(claims.expiresAt == Minter.now.adding(3600))
    }

    @Test(
        arguments: [
            ["aud": ["app"]], ["aud": ["other", "app"], "azp": "app"], ["aud": ["app", "other"]], ["azp": "app"],
            ["exp": 1_699_999_701], ["iat": 1_700_000_300], ["nbf": 1_700_000_300], ["nbf": 1_600_000_000],
            ["exp": .decimal("1700003600.5")], ["sub": .string(String(repeating: "x", count: 255))],
            ["exp": .decimal("1e30")], ["unknown": ["a": [1, .null]]],
        ] as [JSONValue])
    func `accepts every token that the specification allows`(changes: JSONValue) throws {
        _ = try minter.validate(try minter.token(.es256, claims: spoiled(changes)))
    }

    @Test(
        arguments: [
            ["iss": "https://evil.example"], ["iss": "https://op.example/"], ["iss": "https://OP.example"],
            ["iss": .null], ["iss": 1], ["iss": ["https://op.example"]],
            ["aud": "other"], ["aud": "APP"], ["aud": .null], ["aud": []], ["aud": ["other"]], ["aud": ["app", 1]],
            ["aud": ["another", "other"]], ["aud": ["app", "other"], "azp": "other"], ["azp": "other"], ["azp": 1],
            ["exp": .null], ["exp": 1_699_999_700], ["exp": "1700003600"], ["exp": 0], ["exp": -1], ["exp": true],
            ["iat": .null], ["iat": 1_700_000_301], ["iat": "soon"], ["nbf": 1_700_000_301], ["nbf": [:]],
            ["sub": .null], ["sub": ""], ["sub": 7], ["sub": .string(String(repeating: "x", count: 256))],
            ["nonce": .null], ["nonce": "n-2"], ["nonce": ""], ["nonce": 1],
            ["events": ["http://schemas.openid.net/event/backchannel-logout": [:]]], ["events": [:]],
        ] as [JSONValue])
    func `refuses claims`(changes: JSONValue) throws {
        let token = try minter.token(.es256, claims: spoiled(changes))
        let error = #expect(throws: CredentialError.self) { try minter.validate(token) }
        #expect(error?.code == .validationFailed)
        #expect(error?.message.hasPrefix("the ID token cannot be trusted: ") ?? false)
    }

    @Test(
        arguments: [
            ["alg": "none"], ["alg": "None"], ["alg": "HS256", "kid": "key-ES256"],
            ["alg": "RS256", "kid": "key-ES256"],
            ["alg": "ES256", "kid": "unknown"], ["alg": "ES256", "kid": "KEY-ES256"],
            ["kid": "key-ES256"], ["alg": 1], ["alg": "ES384", "kid": "key-ES256"],
            ["alg": "ES256", "kid": "key-ES256", "crit": ["exp"]],
            ["alg": "ES256", "kid": "key-ES256", "crit": []],
            ["alg": "ES256", "kid": "key-ES256", "b64": false],
            ["alg": "ES256", "kid": "key-ES256", "typ": "at+jwt"],
            ["alg": "ES256", "kid": "key-ES256", "typ": "application/AT+JWT"],
            ["alg": "ES256", "kid": "key-ES256", "typ": "logout+jwt"],
            ["alg": "ES256", "kid": "key-ES256", "typ": "secevent+jwt"],
            ["alg": "ES256", "kid": "key-ES256", "typ": 1],
        ] as [JSONValue])
    func `refuses headers`(header: JSONValue) throws {
        let token = try minter.token(.es256, header: header.object)
        let error = #expect(throws: CredentialError.self) { try minter.validate(token) }
        #expect(error?.code == .validationFailed)
    }

    @Test(arguments: ["JWT", "jwt", "application/jwt", "JOSE"])
    func `takes a type that says no more than that it is a token`(type: String) throws {
        let header: JSONValue = ["alg": "ES256", "kid": "key-ES256", "typ": .string(type)]
        _ = try minter.validate(try minter.token(.es256, header: header.object))
    }

    @Test func `refuses a key that the token brings along`() throws {
        let other = try Minter(.es256)
        var header = JSONObject()
        header["alg"] = "ES256"
        header["jwk"] = .object(try #require(other.keys[.es256]).publicJWK)
        header["jku"] = "https://evil.example/keys"
        let token = try other.token(.es256, header: header)
        #expect(throws: CredentialError.self) { try minter.validate(token) }
    }

    @Test func `refuses a spoiled signature, payload or form`() throws {
        let token = try minter.token(.rs256)
        let parts = token.split(separator: ".").map(String.init)
        let other = try minter.token(.rs256, claims: spoiled(["sub": "eve"])).split(separator: ".").map(String.init)
        let unsigned = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + "." + parts[1] + "."
        for bad in [
            parts[0] + "." + other[1] + "." + parts[2], parts[0] + "." + parts[1] + "." + other[2],
            parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1], token + ".x", token + "=", unsigned, "",
            "..",
            "a.b.c", parts[0] + "." + parts[1] + "." + parts[2] + "AA", token + "..", " " + token,
            Base64URL.encode(Array(#"["alg"]"#.utf8)) + "." + parts[1] + "." + parts[2],
            Base64URL.encode(Array(#"{"alg":"RS256","alg":"none"}"#.utf8)) + "." + parts[1] + "." + parts[2],
            String(repeating: "a", count: 70_000),
        ] {
            let error = #expect(throws: CredentialError.self, "\(bad.prefix(60))") { try minter.validate(bad) }
            #expect(error?.code == .validationFailed)
        }
    }

    @Test func `takes only the algorithms that the provider lists`() throws {
        let token = try minter.token(.es256)
        #expect(throws: CredentialError.self) { try minter.validate(token) { $0.algorithms = [.rs256] } }
        _ = try minter.validate(token) { $0.algorithms = [.rs256, .es256] }
    }

    private func keySet(_ keys: [JSONObject]) throws -> JWKSet {
        var document = JSONObject()
        document["keys"] = .array(keys.map(JSONValue.object))
        return try JWKSet(document)
    }

    @Test func `tries each key of the algorithm for a token without a kid`() throws {
        var header = JSONObject()
        header["alg"] = "ES256"
        let token = try minter.token(.es256, header: header)
        _ = try minter.validate(token)
        let own = try #require(minter.keys[.es256]).publicJWK
        let other = try #require(Minter(.es256).keys[.es256]).publicJWK
        _ = try minter.validate(token, with: keySet([other, own]))
        #expect(throws: CredentialError.self) { try minter.validate(token, with: keySet([other, other])) }
    }

    @Test func `tries the keys of the token's name, else those without a name`() throws {
        let token = try minter.token(.es256)
        let own = try #require(minter.keys[.es256]).publicJWK
        let other = try #require(Minter(.es256).keys[.es256]).publicJWK
        let nameless = JSONValue.object(own).merging(["kid": .null])
        let renamed = JSONValue.object(own).merging(["kid": "another"])
        let broken = JSONValue.object(other).merging(["x": "AA"])
        for keys in [[nameless], [own, own], [other, own], [broken, own], [renamed, nameless]] {
            _ = try minter.validate(token, with: keySet(keys))
        }
        for keys in [[renamed], [other, nameless], [broken], [JSONValue.object(nameless).merging(["use": "enc"])]] {
            #expect(throws: CredentialError.self) { try minter.validate(token, with: keySet(keys)) }
        }
    }

    @Test func `reads members of keys with padding and in ordinary base64`() throws {
        let token = try minter.token(.es256)
        let own = JSONValue.object(try #require(minter.keys[.es256]).publicJWK)
        func changed(_ change: (String) -> String) -> JSONObject {
            own.merging([
                "x": .string(change(own.object?["x"]?.string ?? "")),
                "y": .string(change(own.object?["y"]?.string ?? "")),
            ])
        }
        let ordinary = changed { Base64URL.encodeOrdinary(Base64URL.decode($0) ?? []) }
        _ = try minter.validate(token, with: keySet([changed { $0 + "=" }]))
        _ = try minter.validate(token, with: keySet([ordinary]))
        _ = try minter.validate(token, with: keySet([changed { "\($0.prefix(9))\r\n \($0.dropFirst(9))=\n" }]))
        for wrong in [changed { $0 + "==" }, changed { "=" + $0 }] {
            #expect(throws: CredentialError.self) { try minter.validate(token, with: keySet([wrong])) }
        }
    }

    @Test(
        arguments: [
            ["use": ""], ["alg": ""], ["use": .null], ["key_ops": []], ["kid": ""], ["kid": 1], ["kid": .null],
            ["use": "", "alg": "", "key_ops": [], "kid": 7],
        ] as [JSONValue])
    func `an optional member of a key that says nothing is passed over`(change: JSONValue) throws {
        let own = JSONValue.object(try #require(minter.keys[.es256]).publicJWK).merging(change)
        _ = try minter.validate(try minter.token(.es256), with: keySet([own]))
    }

    @Test(arguments: ["", 1, .null] as [JSONValue])
    func `a kid of a token that is no name is none`(kid: JSONValue) throws {
        let header: JSONValue = ["alg": "ES256", "kid": kid]
        _ = try minter.validate(try minter.token(.es256, header: header.object))
    }

    @Test func `never takes an encryption key or a key for another algorithm`() throws {
        for change in [
            ["use": "enc"], ["alg": "ES384"], ["key_ops": ["encrypt"]], ["crv": "P-384"], ["kty": "oct"],
        ]
            as [JSONValue]
        {
            let key = try #require(minter.keys[.es256]).publicJWK
            var document = JSONObject()
            document["keys"] = [.object(JSONValue.object(key).merging(change))]
            let keys = try JWKSet(document)
            #expect(keys.candidates(for: .es256, kid: "key-ES256").keys.isEmpty)
        }
    }

    @Test func `checks subject, age of the sign-in and nonce as asked`() throws {
        let token = try minter.token(.es256, claims: spoiled(["auth_time": 1_699_999_000, "nonce": .null]))
        _ = try minter.validate(token) {
            $0.nonce = nil; $0.subject = "ada"; $0.maximumAge = 700
        }
        #expect(throws: CredentialError.self) {
            try minter.validate(token) {
                $0.nonce = nil; $0.subject = "Ada"
            }
        }
        #expect(throws: CredentialError.self) {
            try minter.validate(token) {
                $0.nonce = nil; $0.maximumAge = 699
            }
        }
        let ageless = try minter.token(.es256)
        #expect(throws: CredentialError.self) { try minter.validate(ageless) { $0.maximumAge = 3600 } }
    }

    @Test func `hashes as in OpenID Connect Core appendix A`() throws {
        let cryptography = LibCryptography()
        #expect(
            try TokenHash.of(
                "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y", algorithm: .rs256, cryptography: cryptography)
                == "77QmUPtjPfzWtF2AnpK9RQ")
        #expect(
            try TokenHash.of(
                "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk", algorithm: .rs256,
                cryptography: cryptography) == "LDktKdoQak3Pk0cnXxCltA")
    }

    @Test func `checks at_hash and c_hash when they are there`() throws {
        let hashes: JSONValue = ["at_hash": "77QmUPtjPfzWtF2AnpK9RQ", "c_hash": "LDktKdoQak3Pk0cnXxCltA"]
        let token = try minter.token(.rs256, claims: spoiled(hashes))
        let accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        let code = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"
        _ = try minter.validate(token) {
            $0.accessToken = accessToken; $0.code = code
        }
        #expect(throws: CredentialError.self) { try minter.validate(token) { $0.accessToken = "other" } }
        #expect(throws: CredentialError.self) { try minter.validate(token) { $0.code = "other" } }
        let odd = try minter.token(.rs256, claims: spoiled(["at_hash": 1]))
        #expect(throws: CredentialError.self) { try minter.validate(odd) { $0.accessToken = accessToken } }
    }

    @Test func `signs assertions that verify, with every kind of key`() throws {
        let context = AdapterContext(
            transport: NoTransport(), clock: FixedClock(), random: CountingRandom(),
            cryptography: LibCryptography(),
            clientSecrets: NoSecrets())
        for algorithm in [SignatureAlgorithm.rs256, .es256, .edDSA] {
            let key = try #require(minter.keys[algorithm])
            let text = try ClientAssertion(issuer: "app", subject: "app", audience: "https://op.example/token")
                .signed(with: key.privateKey, in: context).reveal()
            let token = try CompactJWT(text)
            #expect(token.claims["aud"]?.string == "https://op.example/token")
            #expect(token.claims["exp"]?.integer == 1_700_000_120)
            #expect(
                try LibCryptography().verify(
                    token.signature, of: token.signingInput, algorithm: algorithm, key: key.publicJWK))
        }
        let privateKey = try #require(try minter.keys[.es256]?.privateKey.reveal())
        let jwk = try JSONValue.parse(privateKey).merging(["kid": "pk-1"])
        for key in [JSONValue.object(jwk), ["keys": [.object(jwk)]]] {
            let text = try ClientAssertion(issuer: "app", subject: "app", audience: "a")
                .signed(with: Secret(key.text()), in: context).reveal()
            #expect(try CompactJWT(text).header["kid"]?.string == "pk-1")
        }
        let broken = #expect(throws: CredentialError.self) {
            try ClientAssertion(issuer: "a", subject: "a", audience: "a").signed(
                with: Secret("no key"), in: context)
        }
        #expect(broken?.code == .configuration)
    }
}

private struct NoTransport: HTTPTransport {
    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        throw CredentialError(.internalFault, "nothing may be sent here")
    }
}

private struct FixedClock: WallClock {
    var now: Timestamp { Minter.now }
}

private struct CountingRandom: RandomSource {
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }
}

private struct NoSecrets: ClientSecrets {
    func clientSecret(of type: AccountType) throws(CredentialError) -> Secret? { nil }
    func privateKey(of type: AccountType) throws(CredentialError) -> Secret? { nil }
}
