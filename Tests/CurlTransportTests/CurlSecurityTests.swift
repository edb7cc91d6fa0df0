import CredentialCore
import CurlTransport
import Foundation
import TestSupport
import Testing

@Suite struct `Security of the transport` {
    private static let ok = CurlTestServer.Reply.text("HTTP/1.1 200 OK\nContent-Length: 2\n\nok")

    @Test func `A server with a certificate of the given authority is trusted`() throws {
        let authority = try TestAuthority()
        let server = try CurlTestServer(Self.ok, certificate: try authority.certificate())
        let transport = CurlTransport(userAgent: "credmgr/test", certificateFile: authority.file)
        let response = try transport.send(HTTPRequest(address: try server.address(scheme: "https")))
        #expect(response.body == Array("ok".utf8))
    }

    @Test(arguments: [true, false])
    func `The system's authorities are found in their folder and, failing that, in their file`(
        isInFolder: Bool
    ) throws {
        let authority = try TestAuthority(), other = try TestAuthority(), folder = try TemporaryFolder()
        try FileManager.default.copyItem(
            atPath: (isInFolder ? authority : other).file, toPath: folder.path + "/authority.pem")
        #expect(try ChildProcess("openssl", ["rehash", folder.path]).run().exitStatus == 0)
        let server = try CurlTestServer(Self.ok, certificate: try authority.certificate())
        let transport = CurlTransport(
            userAgent: "credmgr/test",
            system: CertificateStore(folder: folder.path, file: (isInFolder ? other : authority).file))
        let request = HTTPRequest(
            method: "POST", address: try server.address(scheme: "https"), body: .bytes(Array("a=1".utf8)))
        #expect(try transport.send(request).body == Array("ok".utf8))
        #expect(try server.stop().map(\.body) == [Array("a=1".utf8)])
        withExtendedLifetime(other) {}
    }

    @Test func `The system does not trust an authority of anybody's own`() throws {
        let server = try CurlTestServer(Self.ok, certificate: try TestAuthority().certificate())
        let request = HTTPRequest(address: try server.address(scheme: "https"))
        let error = #expect(throws: CredentialError.self) {
            _ = try CurlTransport(userAgent: "credmgr/test").send(request)
        }
        #expect(error?.code == .denied)
        #expect(try server.stop().isEmpty)
    }

    @Test(arguments: ["unknown authority", "expired", "wrong host"])
    func `A certificate that does not hold is refused before the request leaves`(fault: String) throws {
        let authority = try TestAuthority(), other = try TestAuthority()
        let certificate = try authority.certificate(
            for: fault == "wrong host" ? "DNS:login.example" : "IP:127.0.0.1", isExpired: fault == "expired")
        let server = try CurlTestServer(Self.ok, certificate: certificate)
        let trusted = fault == "unknown authority" ? other : authority
        let transport = CurlTransport(userAgent: "credmgr/test", certificateFile: trusted.file)
        let request = HTTPRequest(
            address: try server.address("/?code=secret", scheme: "https"), headers: [("Authorization", "secret")])
        let error = try #require(#expect(throws: CredentialError.self) { _ = try transport.send(request) })
        #expect(error.code == .denied)
        #expect(error.message.hasPrefix("the certificate of 127.0.0.1:\(server.port) is not valid: "))
        #expect(error.hint?.contains("ca_certificate") == true)
        #expect(!String(reflecting: error).contains("secret"))
        #expect(try server.stop().isEmpty)
        withExtendedLifetime(other) {}
    }

    @Test func `A file of authorities that cannot be read is named`() throws {
        let server = try CurlTestServer(Self.ok, certificate: try TestAuthority().certificate())
        let transport = CurlTransport(userAgent: "credmgr/test", certificateFile: "/nonexistent/ca.pem")
        let request = HTTPRequest(address: try server.address(scheme: "https"))
        let error = #expect(throws: CredentialError.self) { _ = try transport.send(request) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("/nonexistent/ca.pem") == true)
    }

    @Test(arguments: [
        "http://login.example/token?code=secret", "http://127.0.0.1.login.example/", "ftp://127.0.0.1/",
        "file://localhost/etc/hostname", "http://10.0.0.1/",
    ])
    func `Anything but https and loopback http is refused without traffic`(text: String) async throws {
        let proxy = try CurlTestServer(Self.ok)
        await #expect(processExitsWith: .success) { [text = text as String, port = proxy.port as UInt16] in
            // A proxy would see every request that leaves, to any host.
            for name in ["http_proxy", "ftp_proxy", "all_proxy"] { setenv(name, "http://127.0.0.1:\(port)", 1) }
            let address = try #require(URI(text))
            let transport = CurlTransport(userAgent: "credmgr/test")
            let error = #expect(throws: CredentialError.self) {
                _ = try transport.send(HTTPRequest(address: address))
            }
            #expect(error?.code == .denied)
            #expect(error?.message.contains("secret") == false)
        }
        #expect(try proxy.stop().isEmpty)
    }

    @Test func `The proxies of the environment are not used for the loopback`() async throws {
        let server = try CurlTestServer(Self.ok), proxy = try CurlTestServer(Self.ok)
        await #expect(processExitsWith: .success) {
            [port = server.port as UInt16, proxyPort = proxy.port as UInt16] in
            for name in ["http_proxy", "https_proxy", "all_proxy"] {
                setenv(name, "http://127.0.0.1:\(proxyPort)", 1)
            }
            for host in ["127.0.0.1", "localhost"] {
                let address = try #require(URI("http://\(host):\(port)/direct"))
                _ = try CurlTransport(userAgent: "credmgr/test").send(HTTPRequest(address: address))
            }
        }
        #expect(try proxy.stop().isEmpty)
        #expect(try server.stop().count == 2)
    }

    @Test func `The proxy of the environment gets a tunnel request for other hosts, without credentials`()
        async throws
    {
        let proxy = try CurlTestServer(.text("HTTP/1.1 403 Forbidden\nX-Proxy: 1\nContent-Length: 0\n\n"))
        await #expect(processExitsWith: .success) { [port = proxy.port as UInt16] in
            setenv("https_proxy", "http://127.0.0.1:\(port)", 1)
            unsetenv("no_proxy")
            unsetenv("NO_PROXY")
            let address = try #require(URI("https://login.example/token?code=secret"))
            let error = #expect(throws: CredentialError.self) {
                _ = try CurlTransport(userAgent: "credmgr/test").send(
                    HTTPRequest(address: address, headers: [("Authorization", "Bearer secret")]))
            }
            #expect(error?.code == .temporary)
            #expect(error?.message.contains("login.example") == true)
            #expect(error?.message.contains("secret") == false)
        }
        let requests = try proxy.stop()
        #expect(requests.count == 1)
        #expect(requests.first?.head.hasPrefix("CONNECT login.example:443 HTTP/1.1\r\n") == true)
        #expect(requests.first?.head.contains("secret") == false)
    }

    @Test func `A name that does not resolve is temporary and names the host`() async throws {
        await #expect(processExitsWith: .success) {
            for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] { unsetenv(name) }
            let address = try #require(URI("https://nowhere.invalid/?code=secret"))
            let error = #expect(throws: CredentialError.self) {
                _ = try CurlTransport(userAgent: "credmgr/test").send(HTTPRequest(address: address))
            }
            #expect(error?.code == .temporary)
            #expect(error?.message == "cannot reach nowhere.invalid: cannot resolve its name")
        }
    }

    @Test(arguments: [
        (AddressAuthor.issuer(host: "op.example"), true), (.api(host: "api.example"), true), (.user, false),
        (.issuer(host: "127.0.0.1"), false), (.api(host: "10.0.0.7"), false),
        (.issuer(host: "::ffff:127.0.0.1"), false),
    ])
    func `A remote server names no address on this machine, in any form`(
        author: AddressAuthor, isRefused: Bool
    ) throws {
        // The loopback within IPv6: its text does not show that.
        let server = try CurlTestServer(Self.ok)
        let text = "https://[::ffff:127.0.0.1]:\(server.port)/token?code=secret"
        let address = try #require(URI(text)).named(by: author)
        let error = #expect(throws: CredentialError.self) {
            _ = try CurlTransport(userAgent: "credmgr/test").send(HTTPRequest(address: address))
        }
        #expect((error?.code == .validationFailed) == isRefused)
        if isRefused {
            #expect(error?.message.contains("::ffff:127.0.0.1") == true)
            #expect(error?.message.contains(author.host ?? "") == true)
            #expect(error?.details.contains("rule: " + AddressAuthor.Rule.network.rawValue) == true)
            #expect(error?.message.contains("secret") == false)
        }
        _ = try server.stop()
    }

    @Test(
        arguments: [
            (["https_proxy": "http://p:1"], true), (["HTTPS_PROXY": "http://p:1"], true), ([:], false),
            (["http_proxy": "http://p:1"], false), (["ALL_PROXY": "http://p:1"], true),
            (["https_proxy": ""], false),
            (["https_proxy": "http://p:1", "no_proxy": "*"], false),
            (["https_proxy": "http://p:1", "NO_PROXY": "other, .op.example"], false),
            (["https_proxy": "http://p:1", "no_proxy": "example"], false),
            (["https_proxy": "http://p:1", "no_proxy": "p.example,xample"], true),
        ] as [([String: String], Bool)])
    func `Whether a proxy is used is read as libcurl reads it`(variables: [String: String], isUsed: Bool) throws {
        let address = try #require(URI("https://op.example/token"))
        #expect(ProxyVariables(variables).apply(to: address) == isUsed)
    }

    @Test(
        arguments: [
            ("http://ada:secret@proxy.example:3128/", "proxy.example:3128"),
            ("proxy.example:3128", "proxy.example:3128"),
            ("socks5h://proxy.example", "proxy.example"),
        ])
    func `A proxy is named with its variable, and without its password`(value: String, place: String) throws {
        let address = try #require(URI("https://op.example/token"))
        let variables = ProxyVariables(["all_proxy": "http://other.example", "HTTPS_PROXY": value])
        let variable = try #require(variables.variable(for: address))
        #expect(variable == "HTTPS_PROXY")
        #expect(variables.place(variable) == place)
    }
}
