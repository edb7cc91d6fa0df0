import CredentialCore
import CryptoSupport
import DemoProvider
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

@Suite struct `Metadata of the demo provider` {
    static let guid = "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"
    static let paths = [
        "/exampleb2c.onmicrosoft.com/b2c_1_sign_in/v2.0/.well-known/openid-configuration",
        "/exampleb2c.onmicrosoft.com/v2.0/.well-known/openid-configuration?p=b2c_1_sign_in",
        "/\(guid)/B2C_1_Sign_In/v2.0/.well-known/openid-configuration",
        "/tfp/exampleb2c.onmicrosoft.com/b2c_1_sign_in/v2.0/.well-known/openid-configuration",
        "/tfp/\(guid)/v2.0/.well-known/openid-configuration?p=B2C_1_SIGN_IN",
        "/exampleb2c.onmicrosoft.com/b2c_1_sign_in/v2.0/.well-known/openid-configuration?p=b2c_1_sign_in",
    ]

    @Test(arguments: paths)
    func `is found at each form of URL, and its endpoints keep the form`(_ path: String) throws {
        let demo = try Demo()
        let document = try demo.http.send("GET", demo.base + path).object()
        #expect(document.text("issuer") == "\(demo.base)/\(Self.guid)/v2.0/")
        let keysURL = try #require(document.text("jwks_uri"))
        #expect(try demo.http.send("GET", keysURL).object()["keys"]?.array?.count == 1)
        let tokenURL = try #require(document.text("token_endpoint"))
        #expect(try demo.post(tokenURL, ["client_id": Demo.client]).failure() == "invalid_request 90083")
        let authorize = try #require(document.text("authorization_endpoint"))
        #expect(try demo.http.send("GET", authorize).text.contains("AADB2C90008"))
        let signOut = try #require(document.text("end_session_endpoint"))
        #expect(try demo.http.send("GET", signOut).text.contains("Signed out"))
        #expect(demo.provider.counters.discoveryRequests == 1)
        #expect(demo.provider.counters.keyRequests == 1)
    }

    @Test(arguments: [
        "/other.onmicrosoft.com/b2c_1_sign_in/v2.0/.well-known/openid-configuration",
        "/exampleb2c.onmicrosoft.com/b2c_1_none/v2.0/.well-known/openid-configuration",
        "/exampleb2c.onmicrosoft.com/v2.0/.well-known/openid-configuration",
        "/exampleb2c.onmicrosoft.com/b2c_1_sign_in/v2.0/.well-known/openid-configuration?p=b2c_1_sign_up",
        "/exampleb2c.onmicrosoft.com/b2c_1_sign_in/x/v2.0/.well-known/openid-configuration", "/", "//",
        "/demo/control",
    ])
    func `is nowhere else`(_ path: String) throws {
        let demo = try Demo()
        #expect(try demo.http.send("GET", demo.base + path).status == 404)
    }

    @Test func `names the host that was asked`() throws {
        let demo = try Demo()
        let base = demo.base.replacing("localhost", with: "127.0.0.1")
        let document = try demo.http.send("GET", base + Self.paths[0]).object()
        #expect(document.text("issuer") == "\(base)/\(Self.guid)/v2.0/")
        #expect(document.text("token_endpoint")?.hasPrefix(base + "/") == true)
    }

    @Test func `answers to no foreign name`() throws {
        let demo = try Demo()
        let port = try #require(URI(demo.base)?.port)
        let request = "GET \(Self.paths[0]) HTTP/1.1\r\nHost: evil.example:\(port)\r\nConnection: close\r\n\r\n"
        let reply = try demo.http.exchange(Array(request.utf8), port: port)
        #expect(String(decoding: reply, as: UTF8.self).hasPrefix("HTTP/1.1 421 "))
    }

    @Test func `takes each form of the issuer`() throws {
        let demo = try Demo()
        func issuer() throws -> String? {
            try demo.http.send("GET", demo.base + Self.paths[0]).object().text("issuer")
        }
        demo.provider.change { $0.issuerForm = .tfp }
        #expect(try issuer() == "\(demo.base)/tfp/\(Self.guid)/b2c_1_sign_in/v2.0/")
        demo.provider.change { $0.issuerEndsWithSlash = false }
        #expect(try issuer() == "\(demo.base)/tfp/\(Self.guid)/b2c_1_sign_in/v2.0")
        demo.provider.change { $0.issuerForm = .custom("https://login.example.com/x") }
        #expect(try issuer() == "https://login.example.com/x")
        demo.provider.change {
            $0.issuerForm = .guid
            $0.discoveryIssuerHost = "evil.example"
        }
        #expect(try issuer() == "http://evil.example/\(Self.guid)/v2.0")
    }

    @Test func `has keys without an algorithm, or with one, or none at all`() throws {
        let demo = try Demo()
        let url = "\(demo.base)/\(Demo.tenant)/b2c_1_sign_in/discovery/v2.0/keys"
        func keys() throws -> [JSONObject] {
            try #require(try demo.http.send("GET", url).object()["keys"]?.array).compactMap(\.object)
        }
        #expect(try keys().map { $0["alg"] } == [nil])
        #expect(try keys().allSatisfy { $0.text("kty") == "RSA" && $0["d"] == nil && $0.text("use") == "sig" })
        demo.provider.change { $0.keysHaveAlgorithm = true }
        #expect(try keys().map { $0.text("alg") } == ["RS256"])
        demo.provider.change { $0.keysStatus = 500 }
        #expect(try demo.http.send("GET", url).status == 500)
    }

    @Test func `rolls its key over`() throws {
        let demo = try Demo()
        let url = "\(demo.base)/\(Demo.tenant)/b2c_1_sign_in/discovery/v2.0/keys"
        func kids() throws -> [String?] {
            try #require(try demo.http.send("GET", url).object()["keys"]?.array).map { $0.object?.text("kid") }
        }
        let before = try kids()
        let old = try demo.tokens()
        demo.provider.change { $0.signingKey = 1 }
        let new = try demo.tokens()
        #expect(try [Demo.header(old.text("id_token")).text("kid")] == before)
        let newKid = try Demo.header(new.text("id_token")).text("kid")
        #expect(try kids() == before + [newKid])
        #expect(newKid != before.first)
        demo.provider.change { $0.unknownKid = true }
        #expect(try !kids().contains(Demo.header(demo.tokens().text("id_token")).text("kid")))
        demo.provider.change { $0.signingKey = .max }
        #expect(try demo.tokens().text("id_token") != nil)
    }
}
