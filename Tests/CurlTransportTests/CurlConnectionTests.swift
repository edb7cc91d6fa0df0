import CredentialCore
import Foundation
import TestSupport
import Testing

@testable import CurlTransport

/// Authorities and proxies of account types and of `config.json`.
@Suite struct `Connection settings of the transport` {
    private static let ok = CurlTestServer.Reply.text("HTTP/1.1 200 OK\nContent-Length: 2\n\nok")
    private static let refused = CurlTestServer.Reply.text(
        "HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n")

    private static func request(
        _ server: CurlTestServer, _ settings: ConnectionSettings? = nil
    ) throws -> HTTPRequest {
        var request = HTTPRequest(address: try server.address(scheme: "https"))
        request.connection = settings
        return request
    }

    /// A system whose folder, file or both have an authority.
    private static func system(_ authority: TestAuthority, inFolder: Bool, _ folder: TemporaryFolder) throws
        -> CertificateStore
    {
        let empty = folder.path + "/empty.pem", other = try TestAuthority()
        try FileManager.default.copyItem(
            atPath: (inFolder ? authority : other).file, toPath: folder.path + "/authority.pem")
        #expect(try ChildProcess("openssl", ["rehash", folder.path]).run().exitStatus == 0)
        try FileManager.default.copyItem(atPath: (inFolder ? other : authority).file, toPath: empty)
        return CertificateStore(folder: folder.path, file: empty)
    }

    @Test(arguments: [true, false], [true, false])
    func `The authorities of a type or of config.json are trusted in addition to the system's`(
        isOfType: Bool, isInFolder: Bool
    ) throws {
        let systems = try TestAuthority("system"), own = try TestAuthority("own"), folder = try TemporaryFolder()
        let settings = ConnectionSettings(
            isOfType ? .type("Work") : .configuration("/c/config.json"), certificateFile: own.file)
        let transport = CurlTransport(
            userAgent: "credmgr/test", system: try Self.system(systems, inFolder: isInFolder, folder),
            defaults: { isOfType ? nil : settings })
        for authority in [systems, own] {
            let server = try CurlTestServer(Self.ok, certificate: try authority.certificate())
            let request = try Self.request(server, isOfType ? settings : nil)
            #expect(try transport.send(request).body == Array("ok".utf8))
            #expect(try server.stop().count == 1)
        }
    }

    @Test func `The authorities of type, config.json and CURL_CA_BUNDLE are trusted together, and no other`() throws
    {
        let bundled = try TestAuthority(), common = try TestAuthority(), own = try TestAuthority()
        let transport = CurlTransport(
            userAgent: "credmgr/test", certificateFile: bundled.file,
            defaults: { [file = common.file] in
                ConnectionSettings(.configuration("/c/config.json"), certificateFile: file)
            })
        for authority in [bundled, common, own] {
            let server = try CurlTestServer(Self.ok, certificate: try authority.certificate())
            let request = try Self.request(server, ConnectionSettings(.type("Work"), certificateFile: own.file))
            #expect(try transport.send(request).body == Array("ok".utf8))
        }
        let server = try CurlTestServer(Self.ok, certificate: try own.certificate())
        let request = try Self.request(server, ConnectionSettings(.type("Other")))
        let error = #expect(throws: CredentialError.self) { _ = try transport.send(request) }
        #expect(error?.code == .denied)
        #expect(try server.stop().isEmpty)
    }

    @Test func `A certificate of an unknown authority leads to the key of the type, else of config.json`() throws {
        let server = try CurlTestServer(Self.ok, certificate: try TestAuthority().certificate())
        let transport = CurlTransport(userAgent: "credmgr/test")
        for (settings, hint) in [
            (
                ConnectionSettings(.type("Work")),
                "if the certificate authority is your own: credmgr types set Work ca_certificate=FILE; otherwise "
                    + "check this machine's clock"
            ),
            (
                nil,
                "set ca_certificate in config.json if the certificate authority is your own; otherwise check "
                    + "this machine's clock"
            ),
        ] {
            let request = try Self.request(server, settings)
            let error = #expect(throws: CredentialError.self) { _ = try transport.send(request) }
            #expect(error?.code == .denied && error?.hint == hint)
        }
        #expect(try server.stop().isEmpty)
    }

    @Test(arguments: ["missing", "folder", "empty", "text", "DER", "cut off", "no certificate"])
    func `A file that is none of certificates is named with its key before anything is sent`(fault: String) throws {
        let authority = try TestAuthority(), folder = try TemporaryFolder()
        let server = try CurlTestServer(Self.ok, certificate: try authority.certificate())
        let file = folder.path + "/own.pem", pem = try String(contentsOfFile: authority.file, encoding: .utf8)
        let url = URL(fileURLWithPath: file)
        switch fault {
        case "missing": break
        case "folder": try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        case "empty": try Data().write(to: url)
        case "text": try Data("no certificate".utf8).write(to: url)
        case "DER":
            let arguments = ["x509", "-in", authority.file, "-outform", "DER", "-out", file]
            #expect(try ChildProcess("openssl", arguments).run().exitStatus == 0)
        case "cut off": try Data(pem.utf8.prefix(pem.utf8.count / 2)).write(to: url)
        default:
            try Data("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n".utf8).write(to: url)
        }
        for source in [ConnectionSettings.Source.type("Work"), .configuration("/c/config.json")] {
            let settings = ConnectionSettings(source, certificateFile: file)
            let request = try Self.request(server, settings)
            let error = try #require(
                #expect(throws: CredentialError.self) {
                    _ = try CurlTransport(userAgent: "credmgr/test").send(request)
                })
            #expect(error.code == .configuration && error.code.exitStatus == 2)
            #expect(error.message.hasPrefix("\(settings.place(of: "ca_certificate")): "))
            #expect(error.message.contains(file))
        }
        #expect(try server.stop().isEmpty)
    }

    // MARK: Proxies

    /// Sends a request for another host through a transport.
    private static func error(
        _ transport: CurlTransport, _ settings: ConnectionSettings? = nil
    ) throws -> CredentialError {
        var request = HTTPRequest(
            address: try #require(URI("https://login.example/token?code=secret")),
            headers: [("Authorization", "Bearer secret")])
        request.connection = settings
        let sent = request
        return try #require(#expect(throws: CredentialError.self) { _ = try transport.send(sent) })
    }

    @Test func `The proxy of the type goes before that of the environment, and this before that of config.json`()
        async throws
    {
        let proxies = try (0..<3).map { _ in try CurlTestServer(Self.refused) }
        await #expect(processExitsWith: .success) { [ports = proxies.map(\.port) as [UInt16]] in
            for name in ["no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "HTTPS_PROXY"] { unsetenv(name) }
            let variable = "http://ada:secret@127.0.0.1:\(ports[1])"
            let common = ConnectionSettings(
                .configuration("/c/config.json"), proxy: "http://127.0.0.1:\(ports[2])")
            let own = ConnectionSettings(.type("Work"), proxy: "http://127.0.0.1:\(ports[0])")
            func transport(_ environment: [String: String]) -> CurlTransport {
                CurlTransport(userAgent: "credmgr/test", environment: environment, defaults: { common })
            }
            setenv("https_proxy", variable, 1)
            let ofType = try Self.error(transport(["https_proxy": variable]), own)
            #expect(
                ofType.hint == "the proxy 127.0.0.1:\(ports[0]) of the account type Work refused the request")
            let ofVariable = try Self.error(
                transport(["https_proxy": variable]), ConnectionSettings(.type("Work")))
            #expect(
                ofVariable.hint
                    == "the proxy 127.0.0.1:\(ports[1]) of the variable https_proxy refused the request")
            #expect(!String(reflecting: ofVariable).contains("secret"))
            unsetenv("https_proxy")
            let ofFile = try Self.error(transport([:]))
            #expect(
                ofFile.hint == "the proxy 127.0.0.1:\(ports[2]) of /c/config.json refused the request")
            for error in [ofType, ofVariable, ofFile] {
                #expect(error.code == .temporary && error.message.contains("login.example"))
            }
        }
        for proxy in proxies {
            let requests = try proxy.stop()
            #expect(requests.map { $0.head.hasPrefix("CONNECT login.example:443 HTTP/1.1\r\n") } == [true])
        }
    }

    @Test func `A proxy that is down is named with its source`() async throws {
        let proxy = try CurlTestServer(Self.refused)
        _ = try proxy.stop()
        await #expect(processExitsWith: .success) { [port = proxy.port as UInt16] in
            for name in ["no_proxy", "NO_PROXY", "all_proxy", "https_proxy", "HTTPS_PROXY"] { unsetenv(name) }
            let settings = ConnectionSettings(.type("Work"), proxy: "http://127.0.0.1:\(port)")
            let error = try Self.error(CurlTransport(userAgent: "credmgr/test"), settings)
            #expect(error.code == .temporary && error.isBeforeRequest)
            #expect(
                error.hint
                    == "the request goes through the proxy 127.0.0.1:\(port) of the account type Work: is it running?"
            )
        }
    }

    @Test func `An https proxy is trusted by the type's own authorities`() async throws {
        let authority = try TestAuthority()
        let proxy = try CurlTestServer(Self.refused, certificate: try authority.certificate())
        await #expect(processExitsWith: .success) {
            [port = proxy.port as UInt16, file = authority.file as String] in
            for name in ["no_proxy", "NO_PROXY", "all_proxy", "https_proxy", "HTTPS_PROXY"] { unsetenv(name) }
            let transport = CurlTransport(userAgent: "credmgr/test")
            var settings = ConnectionSettings(.type("Work"), proxy: "https://127.0.0.1:\(port)")
            let untrusted = try Self.error(transport, settings)
            #expect(untrusted.code == .denied)
            settings.certificateFile = file
            let error = try Self.error(transport, settings)
            #expect(error.hint?.hasPrefix("the proxy 127.0.0.1:\(port) of") == true, "\(error)")
        }
        #expect(try proxy.stop().count == 1)
    }

    @Test func `The loopback, and what no_proxy names, is reached without the proxy of a type`() async throws {
        let server = try CurlTestServer(Self.ok), proxy = try CurlTestServer(Self.refused)
        let settings = ConnectionSettings(.type("Work"), proxy: "http://127.0.0.1:\(proxy.port)")
        var request = HTTPRequest(address: try server.address())
        request.connection = settings
        #expect(try CurlTransport(userAgent: "credmgr/test").send(request).body == Array("ok".utf8))
        let address = try #require(URI("https://op.example/token"))
        #expect(ProxyChoice(for: address, [settings], ProxyVariables([:]))?.url == settings.proxy)
        #expect(ProxyChoice(for: address, [settings], ProxyVariables(["no_proxy": "op.example"])) == nil)
        #expect(try proxy.stop().isEmpty)
    }
}
