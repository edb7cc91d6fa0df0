import CredentialCore
import CryptoSupport
import DemoProvider
import LoopbackHTTP
import Platform
import StrictJSON
import Synchronization
import Testing

/// A clock that moves only when a test moves it.
final class HandClock: WallClock {
    private let seconds = Mutex<Int64>(1_700_000_000)
    var now: Timestamp { Timestamp(epochSeconds: seconds.withLock { $0 }) }
    func advance(_ count: Int64) { seconds.withLock { $0 += count } }
}

/// A running demo provider and the steps that tests repeat with it.
final class Demo {
    static let client = "580e250c-8f26-49d0-bee8-1c078add1609"
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    static let tenant = "exampleb2c.onmicrosoft.com"
    static let redirect = "http://localhost:51873"
    static let fullScope = "openid offline_access \(client)"

    /// Making RSA keys takes a while, so all tests share them.
    private static let keys = Result { () throws(CredentialError) in
        [try DemoSigningKey.generate(LibCryptography()), try DemoSigningKey.generate(LibCryptography())]
    }

    let provider: DemoProvider
    let base: String
    let clock = HandClock()
    let http = LoopbackClient()

    init(_ configure: (inout DemoConfiguration) -> Void = { _ in }) throws {
        var configuration = DemoConfiguration()
        configure(&configuration)
        provider = try DemoProvider(
            configuration: configuration, keys: Self.keys.get(), cryptography: LibCryptography(), clock: clock,
            random: SystemRandom())
        base = try provider.start()
    }

    deinit { provider.stop() }

    func endpoint(_ name: String, policy: String = "b2c_1_sign_in") -> String {
        "\(base)/\(Self.tenant)/\(policy)/oauth2/v2.0/\(name)"
    }

    /// An authorization URL; a parameter of `nil` is left out.
    func authorizeURL(policy: String = "b2c_1_sign_in", _ changes: [String: String?] = [:]) -> String {
        var parameters: [String: String?] = [
            "client_id": Self.client, "response_type": "code", "redirect_uri": Self.redirect,
            "scope": Self.fullScope, "state": "the-state", "nonce": "the-nonce",
            "code_challenge": Self.challenge, "code_challenge_method": "S256",
        ]
        parameters.merge(changes) { $1 }
        let pairs = parameters.compactMap { name, value in value.map { (name: name, value: $0) } }
        return endpoint("authorize", policy: policy) + "?" + FormFields(pairs).encoded()
    }

    func alice() -> DemoSignIn { DemoSignIn(username: "alice@example.com", password: Secret("alice's password")) }
    func bob() -> DemoSignIn { DemoSignIn(username: "bob@example.com", password: Secret("bob's password")) }

    /// The answer that a redirect brings.
    static func answer(_ url: String) -> FormFields {
        let address = URI(url)
        return FormFields(query: address?.query ?? address?.fragment)
    }

    /// Signs in on the page and gives the code.
    func code(
        _ robot: DemoSignIn? = nil, policy: String = "b2c_1_sign_in", name: String = "",
        changing changes: [String: String?] = [:]
    ) throws -> String {
        var robot = robot ?? alice()
        let url = try robot.run(
            authorizeURL(policy: policy, changes), act: .submit(name: name), delivers: false)
        return try #require(Self.answer(url)["code"])
    }

    func post(
        _ url: String, _ fields: [String: String], headers: [(name: String, value: String)] = []
    ) throws -> HTTPResponse {
        let form = FormFields(fields.map { (name: $0.key, value: $0.value) })
        return try http.send(
            "POST", url, headers: [("Content-Type", "application/x-www-form-urlencoded")] + headers,
            body: Array(form.encoded().utf8))
    }

    func redeem(
        _ code: String, policy: String = "b2c_1_sign_in", _ changes: [String: String?] = [:]
    ) throws -> HTTPResponse {
        var fields: [String: String?] = [
            "grant_type": "authorization_code", "client_id": Self.client, "code": code,
            "redirect_uri": Self.redirect, "code_verifier": Self.verifier, "scope": Self.fullScope,
        ]
        fields.merge(changes) { $1 }
        return try post(endpoint("token", policy: policy), fields.compactMapValues { $0 })
    }

    func refresh(
        _ token: String, policy: String = "b2c_1_sign_in", _ changes: [String: String?] = [:]
    ) throws -> HTTPResponse {
        var fields: [String: String?] = [
            "grant_type": "refresh_token", "client_id": Self.client, "refresh_token": token,
            "scope": Self.fullScope,
        ]
        fields.merge(changes) { $1 }
        return try post(endpoint("token", policy: policy), fields.compactMapValues { $0 })
    }

    /// Signs in and gives the token reply.
    func tokens(_ robot: DemoSignIn? = nil, policy: String = "b2c_1_sign_in", name: String = "") throws
        -> JSONObject
    {
        try redeem(code(robot, policy: policy, name: name), policy: policy).object()
    }

    func bearer(_ token: String) -> [(name: String, value: String)] { [("Authorization", "Bearer \(token)")] }

    /// The claims of a token, unverified.
    static func claims(_ token: String?) throws -> JSONObject { try decoded(part(1, of: token)) }

    /// The header of a token.
    static func header(_ token: String?) throws -> JSONObject { try decoded(part(0, of: token)) }

    /// A JSON object in base64url.
    static func decoded(_ text: String?) throws -> JSONObject {
        let bytes = try #require(Base64URL.decode(text ?? ""))
        return try #require(JSONValue.parse(bytes).object)
    }

    private static func part(_ index: Int, of token: String?) throws -> String {
        let parts = try #require(token).split(separator: ".")
        try #require(parts.count == 3)
        return String(parts[index])
    }
}

extension HTTPResponse {
    func object() throws -> JSONObject { try #require(JSONValue.parse(body).object) }

    /// The number of the AADB2C error in a reply of the token endpoint, with its error code: "invalid_grant 90080".
    func failure() throws -> String {
        let object = try object()
        let text = try #require(object["error_description"]?.string)
        #expect(text.hasPrefix("AADB2C") && text.contains("\r\nCorrelation ID: ") && text.hasSuffix("Z\r\n"))
        return "\(object["error"]?.string ?? "?") \(text.dropFirst(6).prefix(5))"
    }
}

extension JSONObject {
    func text(_ name: String) -> String? { self[name]?.string }
}
