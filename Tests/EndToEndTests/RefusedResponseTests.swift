import CredentialCore
import DemoProvider
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// Responses to a refresh that are refused, of a provider that rotates refresh tokens: each holds the only good
/// one.
///
/// A new shape is a line of one of the tables.
@Suite struct RefusedResponseTests {
    /// A response of which the new refresh token is kept.
    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// How `token --force-refresh` ends.
        let exitStatus: Int32
        let response: @Sendable (JSONObject) -> ServerResponse

        init(
            _ name: String, exits status: Int32 = 1, _ response: @escaping @Sendable (JSONObject) -> ServerResponse
        ) {
            testDescription = name
            exitStatus = status
            self.response = response
        }

        /// A body made of the sound one, as text.
        init(_ name: String, exits status: Int32 = 1, text: @escaping @Sendable (String) -> String) {
            self.init(name, exits: status) { .raw(Array(text(JSONValue.object($0).text()).utf8)) }
        }

        /// A body whose sound one has a further member.
        init(_ name: String, exits status: Int32 = 1, member: String) {
            self.init(name, exits: status, text: { $0.dropLast() + ",\(member)}" })
        }

        /// Members put over those of a sound response.
        init(_ name: String, exits status: Int32 = 1, members: JSONValue) {
            self.init(name, exits: status) { .json(200, .object($0.putting(members))) }
        }
    }

    static let kept: [Shape] = [
        Shape("a sound one", exits: 0, text: { $0 }),
        Shape("a byte order mark", exits: 0, text: { "\u{FEFF}" + $0 }),
        Shape("a name in Latin-1") {
            .raw(JSONValue.object($0).bytes().dropLast() + Array(#","n":""#.utf8) + [0xE9] + Array(#""}"#.utf8))
        },
        Shape("a name that is cut") {
            .raw(JSONValue.object($0).bytes().dropLast() + Array(#","n":""#.utf8) + [0xC3] + Array(#""}"#.utf8))
        },
        Shape("half a surrogate pair", member: #""n":"\ud83d""#),
        Shape("a tab in a string", member: "\"n\":\"a\tb\""),
        Shape("a member twice", member: #""x":1,"x":2"#),
        Shape("NaN", member: #""x":NaN"#),
        Shape("a comma too many", text: { $0.dropLast() + ",}" }),
        Shape(
            "a warning before the object", exits: 6,
            text: { "<br />\n<b>Warning</b>: x in /a.php on line 3<br />\n" + $0 }),
        Shape("a notice in text before the object", text: { "PHP Notice: x\n" + $0 }),
        Shape("a NUL after the object", text: { $0 + "\0" }),
        Shape("no end", text: { String($0.dropLast()) }),
        Shape("form coding") { members in
            let fields = members.members.map { "\($0.name)=\($0.value.string ?? "3600")" }
            return .raw(fields.joined(separator: "&").utf8, type: "application/x-www-form-urlencoded")
        },
        Shape("UTF-16") { .raw(JSONValue.object($0).text().data(using: .utf16) ?? Data()) },
        Shape("gzip, unasked", exits: 0) { .raw(Compressed.gzip(JSONValue.object($0).bytes()), encoding: "gzip") },
        Shape("deflate, unasked", exits: 0) {
            .raw(Compressed.zlib(JSONValue.object($0).bytes()), encoding: "deflate")
        },
        Shape("deflate without a head, unasked", exits: 0) {
            .raw(Compressed.stored(JSONValue.object($0).bytes()), encoding: "deflate")
        },
        Shape("form coding with a line break at the end") { members in
            let token = members["refresh_token"]?.string ?? ""
            return .raw("token_type=Bearer&refresh_token=\(token)\r\n".utf8, type: "text/plain")
        },
        Shape("form coding with a line break at the start") { members in
            let token = members["refresh_token"]?.string ?? ""
            return .raw("\nrefresh_token=\(token)&token_type=Bearer".utf8, type: "text/plain")
        },
        Shape("an error without a text", members: ["token_type": "bot", "error": ""]),
        Shape("an error without a member", members: ["token_type": "bot", "error": [:]]),
        Shape("a list of no errors", members: ["token_type": "bot", "error": []]),
        Shape("an empty refresh token before it", text: { #"{"refresh_token":"",\#($0.dropFirst())"# }),
        Shape("an odd quote behind a brace before the object", text: { "Warning: bad \"{\" in x\n" + $0 }),
        Shape("a nested list without an end", text: { #"{"n":{"a":[1,2},\#($0.dropFirst())"# }),
        Shape("more than a megabyte", member: #""x":""# + String(repeating: "x", count: 2 << 20) + #"""#),
        Shape("a type that nobody knows", members: ["token_type": "BearerToken"]),
        Shape("a type of another kind", members: ["token_type": "N_A"]),
        Shape("a bot's type", members: ["token_type": "bot"]),
        Shape("a user's type", members: ["token_type": "user"]),
        Shape("an access token with a line break", members: ["access_token": "a\nb"]),
        Shape("no access token", members: ["access_token": .null, "id_token": .null]),
        Shape("an ID token that is none", exits: 7, members: ["id_token": "a.b.c"]),
        Shape("an ID token by a key that is not known", exits: 7) { (members: JSONObject) in
            .json(200, .object(members.signedByUnknownKey))
        },
    ]

    /// The shapes that a sound response of a provider without rotation has with these members, and that are not
    /// kept.
    static let dropped: [Shape] = [
        Shape("an echo of the token that was sent", exits: 0, text: { $0 }),
        Shape(
            "an access token in its place",
            members: ["token_type": "x", "refresh_token": "the-same-token", "access_token": "the-same-token"]),
        Shape("stars", members: ["token_type": "x", "refresh_token": "***********"]),
        Shape("a placeholder", members: ["token_type": "x", "refresh_token": "<redacted>"]),
        Shape("a short one", members: ["token_type": "x", "refresh_token": "abc"]),
        Shape("a line break", members: ["token_type": "x", "refresh_token": "another-token\n"]),
        Shape("two of them", text: { #"{"refresh_token":"another-token",\#($0.dropFirst())"# }),
        Shape(
            "an error beside it", exits: 7,
            members: ["error": "strange", "access_token": .null, "refresh_token": "another-token"]),
        Shape("a page", exits: 6) { _ in .raw(Array("<p>refresh_token=another-token".utf8), type: "text/html") },
    ]

    private func provider(_ rotation: ScriptedProvider.Rotation) throws -> (Home, ScriptedProvider) {
        let home = try Home(), provider = try ScriptedProvider { $0.rotation = rotation }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid"])
        try provider.signIn(at: home)
        return (home, provider)
    }

    @Test func `The new refresh token of a refused response is sent at the next refresh, and the sign-in goes on`()
        throws
    {
        let (home, provider) = try provider(.revokesReused)
        let rounds = ProcessInfo.processInfo.environment["REFUSED_ROUNDS"].flatMap { Int($0) } ?? 1
        for round in 0..<rounds {
            for shape in Self.kept.shuffled() {
                provider.change { $0.refresh = shape.response }
                let outcome = try home.run(["token", "--force-refresh"], exits: shape.exitStatus)
                #expect((outcome.exitStatus == 0) == !outcome.standardOutput.isEmpty, "\(shape.testDescription)")
                // Every other time the next response is refused, too.
                if round % 2 == 1 { continue }
                provider.change { $0.refresh = nil }
                try home.run(["token", "--force-refresh"])
                #expect(provider.refusals == 0, "\(shape.testDescription)")
            }
        }
        provider.change { $0.refresh = nil }
        try home.run(["token", "--force-refresh"])
        #expect(provider.refusals == 0)
        #expect(Set(provider.sentTokens).count == provider.sentTokens.count, "a token was sent twice")
    }

    @Test func `An invalid new refresh token does not replace the old one`() throws {
        let (home, provider) = try provider(.keeps)
        for shape in Self.dropped {
            provider.change { $0.refresh = shape.response }
            try home.run(["token", "--force-refresh"], exits: shape.exitStatus)
            provider.change { $0.refresh = nil }
            try home.run(["token", "--force-refresh"])
            #expect(Set(provider.sentTokens) == ["a-refresh-token-1"], "\(shape.testDescription)")
        }
        #expect(provider.refusals == 0)
    }

    @Test(
        arguments: [
            ["iat": .null], ["iat": 4_000_000_000], ["exp": 1], ["aud": "another"], ["aud": ["another", "b"]],
            ["events": [:]],
        ] as [JSONValue])
    func `After a refused ID token no access token is printed until one holds`(claims: JSONValue) throws {
        let (home, provider) = try provider(.revokesReused)
        provider.change { $0.idTokenClaims = claims.object ?? JSONObject() }
        try home.run(["token", "--force-refresh"], exits: 7)
        // A response without an ID token does not name its user either.
        provider.change {
            $0.idTokenClaims = JSONObject()
            $0.refresh = { .json(200, .object($0.putting(["id_token": .null]))) }
        }
        let refused = try home.run(["token", "--force-refresh"], exits: 7)
        #expect(refused.standardError.contains("credmgr login"))
        provider.change { $0.refresh = nil }
        try home.run(["token", "--force-refresh"])
        provider.change { $0.refresh = { .json(200, .object($0.putting(["id_token": .null]))) } }
        try home.run(["token", "--force-refresh"])
        #expect(provider.refusals == 0)
    }

    @Test(arguments: [["sub": "eve"], ["iss": "https://evil.example"]] as [JSONValue], [true, false])
    func `A response of another subject or issuer is quarantined`(claims: JSONValue, isSound: Bool) throws {
        let (home, provider) = try provider(.revokesReused)
        provider.change {
            $0.idTokenClaims = claims.object ?? JSONObject()
            // Even a response that cannot be read names the other subject.
            if !isSound { $0.refresh = { .raw(Array((JSONValue.object($0).text() + "\0").utf8)) } }
        }
        let first = try home.run(["token", "--force-refresh"], exits: 7)
        #expect(first.standardOutput.isEmpty && first.standardError.contains("another subject or issuer"))
        #expect(first.standardError.contains("hint: credmgr login --account "), "\(first.standardError)")
        provider.change { ($0.idTokenClaims, $0.refresh) = (JSONObject(), nil) }
        let refused = try home.run(["token", "--force-refresh"], exits: 4)
        #expect(refused.standardError.contains("named another subject or issuer"))
        let account = try #require(try home.json(["accounts", "--json"]).array?.first?.object)
        #expect(account["status"]?.string == "needs-login")
        #expect(provider.sentTokens == ["a-refresh-token-1"])
        // The person signs in again, and all is well.
        try provider.signIn(at: home)
        try home.run(["token", "--force-refresh"])
    }

    @Test func `The ID token of before may come again`() throws {
        let (home, provider) = try provider(.revokesReused)
        let token = try home.run(["token", "--id-token"]).line
        provider.change { $0.refresh = { .json(200, .object($0.putting(["id_token": .string(token)]))) } }
        for _ in 0..<2 { try home.run(["token", "--force-refresh"]) }
        #expect(provider.refusals == 0)
    }

    @Test func `A new refresh token that is a number is sent at the next refresh`() throws {
        let (home, provider) = try provider(.revokesReused)
        provider.change { $0.refresh = { .json(200, .object($0.putting(["refresh_token": 12_345_678_901]))) } }
        try home.run(["token", "--force-refresh"], exits: 1)
        // The provider knows no such token.
        try home.run(["token", "--force-refresh"], exits: 4)
        #expect(provider.sentTokens == ["a-refresh-token-1", "12345678901"])
    }

    @Test func `A refused pending token falls back on the older one if the provider accepts that`() throws {
        let (home, provider) = try provider(.keeps)
        // The first refresh shows that the provider does not rotate.
        try home.run(["token", "--force-refresh"])
        provider.change {
            $0.refresh = {
                .json(200, .object($0.putting(["refresh_token": "a-token-of-nobody", "token_type": "x"])))
            }
        }
        try home.run(["token", "--force-refresh"], exits: 1)
        provider.change { ($0.refresh, $0.forgives) = (nil, true) }
        try home.run(["token", "--force-refresh"])
        #expect(provider.sentTokens.suffix(2) == ["a-token-of-nobody", "a-refresh-token-1"])
        #expect(provider.refusals == 1)
    }

    @Test
    func `A refused pending token of a provider that rotates ends the sign-in, and the older one is not sent`()
        throws
    {
        let (home, provider) = try provider(.revokesReused)
        try home.run(["token", "--force-refresh"])
        provider.change {
            $0.refresh = {
                .json(200, .object($0.putting(["refresh_token": "a-token-of-nobody", "token_type": "x"])))
            }
        }
        try home.run(["token", "--force-refresh"], exits: 1)
        provider.change { $0.refresh = nil }
        try home.run(["token", "--force-refresh"], exits: 4)
        #expect(provider.sentTokens == ["a-refresh-token-1", "a-refresh-token-2", "a-token-of-nobody"])
    }

    @Test func `An ID token that is valid by one of the two clocks is valid`() throws {
        let (home, provider) = try provider(.revokesReused)
        for hours in [-1, 1] {
            provider.change {
                $0.refresh = { sound in
                    var response = ServerResponse.json(200, .object(sound))
                    response.headers.append(("Date", HTTPDate.text(time(nil) + hours * 3_600)))
                    return response
                }
            }
            try home.run(["token", "--force-refresh"])
        }
    }
}

/// Dates of header fields (RFC 9110 §5.6.7).
private enum HTTPDate {
    static func text(_ time: Int) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSince1970: TimeInterval(time)))
    }
}

private enum Compressed {
    private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// A stored block, as a server without patience makes it (RFC 1951 §3.2.4).
    static func stored(_ bytes: [UInt8]) -> [UInt8] {
        let size = UInt16(bytes.count)
        return [1] + little(size) + little(~size) + bytes
    }

    /// zlib with a stored block (RFC 1950).
    static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        var sums: (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            sums.0 = (sums.0 + UInt32(byte)) % 65_521
            sums.1 = (sums.1 + sums.0) % 65_521
        }
        return [0x78, 1] + stored(bytes) + little(sums.1 << 16 | sums.0).reversed()
    }

    /// gzip with a stored block (RFC 1952).
    static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        let result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + stored(bytes)
        var remainder: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
        }
        return result + little(~remainder) + little(UInt32(bytes.count))
    }
}

extension JSONObject {
    /// The object with other members, or without those that are `null`.
    fileprivate func putting(_ members: JSONValue) -> JSONObject {
        var changed = self
        for (name, value) in members.object?.members ?? [] { changed[name] = value == .null ? nil : value }
        return changed
    }

    /// The object with an ID token whose header names another key.
    fileprivate var signedByUnknownKey: JSONObject {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"k-9"}"#.utf8))
        let rest = (self["id_token"]?.string ?? "").split(separator: ".").dropFirst().joined(separator: ".")
        return putting(["id_token": .string("\(header).\(rest)")])
    }
}

extension ServerResponse {
    /// A successful response of these bytes.
    fileprivate static func raw(
        _ body: some Sequence<UInt8>, type: String = "application/json", encoding: String? = nil
    ) -> ServerResponse {
        ServerResponse(
            status: 200,
            headers: [("Content-Type", type)] + (encoding.map { [("Content-Encoding", $0)] } ?? []),
            body: Array(body))
    }
}
