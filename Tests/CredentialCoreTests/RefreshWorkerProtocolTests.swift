import CredentialCore
import CryptoSupport
import StrictJSON
import TestPorts
import Testing

/// The messages between a caller and its refresh worker.
@Suite struct RefreshWorkerProtocolTests {
    private func request() throws -> TokenService.Request {
        let scene = ServiceScene(cryptography: LibCryptography())
        try scene.signIn()
        return try scene.request(scope: ["read", "write"], force: true, atLeast: 90)
    }

    @Test func `a request is read as it was written, each part of it`() throws {
        var request = try request()
        request.subject = (TokenRequestKey(policy: "p", scope: ["a"], resource: "https://r"), ["a", "b"])
        (request.takesOver, request.waited) = (true, 7)
        request.handed = JSONObject()
        request.handed?["at"] = 1
        let read = try RefreshWorkerProtocol.decodeRequest(RefreshWorkerProtocol.encode(request))
        #expect(read.takesOver && read.waited == 7 && read.handed == request.handed)
        #expect(read.group == request.group)
        #expect(read.account == request.account)
        #expect(read.type == request.type)
        #expect(read.key == request.key)
        #expect(read.scope == request.scope)
        #expect(read.loginScope == ["read", "write"])
        #expect(read.subject?.key == request.subject?.key)
        #expect(read.subject?.scope == request.subject?.scope)
        #expect(read.freshness == Freshness(demanded: 90, configured: nil))
        #expect(read.forceRefresh)
    }

    @Test func `a demand that is none stays none`() throws {
        var request = try request()
        request.freshness = Freshness(minimumValidity: 5)
        request.forceRefresh = false
        let read = try RefreshWorkerProtocol.decodeRequest(RefreshWorkerProtocol.encode(request))
        #expect(read.freshness == request.freshness)
        #expect(!read.forceRefresh)
        #expect(read.subject == nil)
    }

    @Test func `an answer is read as it was written, its failure and warnings with it`() throws {
        let now = Timestamp(epochSeconds: 1_000)
        let token = AccessToken(
            key: TokenRequestKey(scope: ["a"], audience: "b", parameters: ["k": "v"], bearer: .idToken),
            token: Secret("t"), tokenType: "DPoP", issuedAt: now, expiresAt: now.adding(60), scope: ["a"])
        let answer = TokenService.Answer(
            token: token, idToken: Secret("i"), refreshed: true, warnings: ["one", "two"],
            failure: CredentialError(.temporary, "m", hint: "h", details: ["d"]))
        let read = try RefreshWorkerProtocol.decodeAnswer(RefreshWorkerProtocol.encode(answer))
        #expect(read.token == token)
        #expect(read.idToken == Secret("i"))
        #expect(read.refreshed)
        #expect(read.warnings == ["one", "two"])
        #expect(read.failure == answer.failure)
    }

    @Test(arguments: ErrorCode.allCases)
    func `an error comes out as it went in`(code: ErrorCode) {
        var error = CredentialError(code, "what happened", hint: "credmgr doctor", details: ["a", "b"])
        error.forbidsStaleToken = code == .storeUnavailable
        let thrown = #expect(throws: CredentialError.self) {
            try RefreshWorkerProtocol.decodeAnswer(RefreshWorkerProtocol.encode(error))
        }
        #expect(thrown == error)
    }

    @Test func `an invalid answer means that the worker has died, and allows a retry`() throws {
        var whole = RefreshWorkerProtocol.encode(CredentialError(.denied, "no"))
        for bytes in [[], Array("{}".utf8), Array("[]".utf8), Array(whole.dropLast()), whole + whole] {
            let thrown = #expect(throws: CredentialError.self) { try RefreshWorkerProtocol.decodeAnswer(bytes) }
            #expect(thrown?.code == .temporary)
        }
        whole = RefreshWorkerProtocol.encode(try request())
        let thrown = #expect(throws: CredentialError.self) {
            _ = try RefreshWorkerProtocol.decodeRequest(Array(whole.dropLast()))
        }
        #expect(thrown?.code == .internalFault)
    }
}
