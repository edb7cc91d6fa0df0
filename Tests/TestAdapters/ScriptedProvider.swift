package import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON
import Synchronization
import TestPorts
import Testing

/// A provider in memory: answers the requests that a test expects, in their order, and fails the test on any other.
package final class ScriptedProvider: HTTPTransport {
    /// A request as it came.
    package struct Received: Sendable {
        package let request: HTTPRequest
        /// The fields of a form body.
        package let form: [String: String]

        package func header(_ name: String) -> String? {
            request.headers.first { $0.name.lowercased() == name }?.value
        }
    }

    /// Makes one that expects no call.
    package init() {}

    private struct Exchange: Sendable {
        let method: String
        let address: String
        let reply: @Sendable (Received) throws(CredentialError) -> HTTPResponse
    }

    private let exchanges = Mutex<[Exchange]>([])
    private let log = Mutex<[Received]>([])

    /// The requests received so far.
    package var received: [Received] { log.withLock { $0 } }
    /// How many expected requests have not come.
    package var missing: Int { exchanges.withLock { $0.count } }

    package func expect(
        _ method: String, _ address: String,
        reply: @escaping @Sendable (Received) throws(CredentialError) -> HTTPResponse
    ) {
        exchanges.withLock { $0.append(Exchange(method: method, address: address, reply: reply)) }
    }

    package func expect(_ method: String, _ address: String, _ body: JSONValue) {
        expect(method, address, 200, body)
    }

    package func expect(_ method: String, _ address: String, _ status: Int, _ body: JSONValue) {
        expect(method, address) { _ in
            HTTPResponse(status: status, headers: [("content-type", "application/json")], body: body.bytes())
        }
    }

    /// Expects a request that gets no connection.
    package func expectNoConnection(_ method: String, _ address: String) {
        expect(method, address) { (_) throws(CredentialError) in
            throw CredentialError(.temporary, "cannot reach \(address)")
        }
    }

    package func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        var form: [String: String] = [:]
        if case .bytes(let bytes) = request.body {
            for (name, value) in FormURLEncoding.decode(String(decoding: bytes, as: UTF8.self)) ?? [] {
                if form.updateValue(value, forKey: name) != nil { Issue.record("the field \(name) was sent twice") }
            }
        }
        let received = Received(request: request, form: form)
        log.withLock { $0.append(received) }
        let next = exchanges.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let next, next.method == request.method, next.address == request.address.description else {
            let wanted = next.map { "\($0.method) \($0.address)" } ?? "nothing"
            Issue.record("unexpected request \(request.method) \(request.address); expected \(wanted)")
            throw CredentialError(.internalFault, "unexpected request")
        }
        return try next.reply(received)
    }
}

/// Bytes that cannot be predicted.
package struct SystemRandomness: RandomSource {
    /// Makes it.
    package init() {}

    package func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

/// Everything an adapter is given, in memory, with a signing key of the provider.
package struct AdapterWorld: Sendable {
    package let provider = ScriptedProvider()
    package let clock = MemoryClock(Timestamp(epochSeconds: 1_700_000_000))
    package let notes = Notes()
    package let signer: Signer
    package var secrets = MemorySecrets()
    package var metadataCache: any MetadataCache = NoMetadataCache()

    package init(_ signer: Signer) { self.signer = signer }

    package var context: AdapterContext {
        let notes = notes
        return AdapterContext(
            transport: provider, clock: clock, random: SystemRandomness(), cryptography: LibCryptography(),
            clientSecrets: secrets, metadataCache: metadataCache, note: { notes.add($0) })
    }

    package final class Notes: Sendable {
        private let texts = Mutex<[String]>([])
        package func add(_ text: String) { texts.withLock { $0.append(text) } }
        package var all: [String] { texts.withLock { $0 } }
    }
}

/// A signing key of a provider.
package struct Signer: Sendable {
    package let kid: String
    package let publicJWK: JSONObject
    private let privateKey: Secret

    package init(kid: String = "k1") throws {
        var (privateKey, publicKey) = try LibCryptography().generateKey(.rs256)
        publicKey["kid"] = .string(kid)
        publicKey["use"] = "sig"
        self.kid = kid
        self.privateKey = privateKey
        publicJWK = publicKey
    }

    package var keySet: JSONValue { ["keys": [.object(publicJWK)]] }

    package func sign(_ claims: JSONValue) throws(CredentialError) -> String {
        let header: JSONValue = ["alg": "RS256", "typ": "JWT", "kid": .string(kid)]
        let input = Base64URL.encode(header.bytes()) + "." + Base64URL.encode(claims.bytes())
        let signature = try LibCryptography().sign(Array(input.utf8), algorithm: .rs256, privateKey: privateKey)
        return input + "." + Base64URL.encode(signature)
    }
}

extension JSONValue {
    /// The object with members set, or removed if the value is `null`.
    package func with(_ changes: JSONValue) -> JSONValue {
        var object = object ?? JSONObject()
        for (name, value) in changes.object?.members ?? [] { object[name] = value == .null ? nil : value }
        return .object(object)
    }
}

extension SignInStep {
    /// The URL to open, its decoded fields, and the pending sign-in.
    package func opened() throws -> (address: URI, fields: [String: String], pending: JSONObject) {
        guard case .interaction(.openURL(let address, let state), let pending) = self else {
            throw CredentialError(.internalFault, "the sign-in does not open a URL")
        }
        let fields = Dictionary(
            (FormURLEncoding.decode(address.query ?? "") ?? []).map { ($0.name, $0.value) },
            uniquingKeysWith: { $1 })
        #expect(fields["state"] == state)
        return (address, fields, pending)
    }

    /// The code to show and the pending sign-in.
    package func shown() throws -> (code: String, interval: Int, pending: JSONObject) {
        guard case .interaction(.showCode(let code, _, _, let interval, _), let pending) = self else {
            throw CredentialError(.internalFault, "the sign-in shows no code")
        }
        return (code, interval, pending)
    }

    /// The result.
    package func result() throws -> SignInResult {
        guard case .done(let result) = self else {
            throw CredentialError(.internalFault, "the sign-in is not done")
        }
        return result
    }
}
