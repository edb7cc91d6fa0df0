import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON

/// The time of all targets.
private let now = Timestamp(epochSeconds: 1_800_000_000)

extension FuzzTarget {
    /// A token endpoint's reply with a status of 200.
    static let tokenReply = FuzzTarget("token-reply") { bytes in
        guard let members = object(bytes),
            let reply = try? TokenResponse(members, now: now, acceptsIDTokenAlone: bytes.count.isMultiple(of: 2))
        else { return }
        require(reply.accessToken != nil || reply.idToken != nil, "an accepted reply has a token")
        require(reply.expiresAt <= now.adding(TokenResponse.longestLifetime), "no token lives longer than a year")
        for token in [reply.accessToken, reply.refreshToken, reply.idToken] {
            require(token?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ?? true, "tokens are printable")
        }
    }

    /// Any endpoint's reply: two bytes for the status, a line for the type of content, then the body.
    static let endpointReply = FuzzTarget("endpoint-reply") { bytes in
        guard bytes.count > 2 else { return }
        let line = bytes.dropFirst(2).prefix { $0 != 0x0A }
        let status = 100 + (Int(bytes[0]) << 8 | Int(bytes[1])) % 500
        let response = HTTPResponse(
            status: status,
            headers: [("Content-Type", Array(line).text), ("Retry-After", Array(line).text)],
            body: Array(bytes.dropFirst(3 + line.count)))
        do throws(CredentialError) {
            _ = try EndpointResponse.sort(response, from: "token endpoint")
        } catch {
            require(error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }, "errors show")
        }
    }

    /// The reply of a device authorization endpoint.
    static let deviceAuthorization = FuzzTarget("device-authorization") { bytes in
        guard let members = object(bytes),
            let reply = try? DeviceAuthorization(members, from: "the response", now: now)
        else { return }
        require(reply.verificationURI.isSecure, "a person is sent to https only")
        require(reply.interval > 0, "polls are apart")
        require(reply.userCode.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a code can be shown")
    }

    /// Discovery metadata.
    static let discovery = FuzzTarget("discovery") { bytes in
        guard let document = object(bytes) else { return }
        let rule = { (_: String) throws(CredentialError) in }
        guard let metadata = try? ServerMetadata(document, issuerRule: rule) else { return }
        for endpoint in metadata.endpoints.values { require(endpoint.isSecure, "endpoints are https or loopback") }
    }

    /// A key set, each key tried with each algorithm.
    static let keySet = FuzzTarget("key-set") { bytes in
        guard let document = object(bytes), let keys = try? JWKSet(document) else { return }
        for algorithm in SignatureAlgorithm.allCases {
            guard let key = keys.candidates(for: algorithm, kid: keys.keys.first?["kid"]?.string).keys.first else {
                continue
            }
            let signature = [UInt8](repeating: 1, count: 64)
            let isTrue = try? LibCryptography().verify(signature, of: [1], algorithm: algorithm, key: key)
            require(isTrue != true, "a made-up signature is wrong")
        }
    }

    /// A compact token as an id token.
    static let compactToken = FuzzTarget("compact-token") { bytes in
        let text = bytes.text
        guard let token = try? CompactJWT(text) else { return }
        require(token.signingInput.count < text.utf8.count, "the signature is not part of what it signs")
        let validator = IDTokenValidator(
            issuer: "https://id.example.com", clientID: "app", algorithms: SignatureAlgorithm.allCases, now: now)
        let claims = try? validator.validate(text, cryptography: LibCryptography()) { _, _ in [] }
        require(claims == nil, "without a key nothing is valid")
    }
}
