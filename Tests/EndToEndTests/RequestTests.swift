import CredentialCore
import DemoProvider
import Foundation
import LoopbackHTTP
import StrictJSON
import Synchronization
import Testing

@Suite struct `Authenticated requests` {
    @Test func `The to-do list in both dialects: list, add, delete`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let owner = DemoTenant.alice.objectID
        #expect(try home.run(["request", "GET", "/api/tasks"]).standardOutput == "[]")
        #expect(
            try home.run(["request", "POST", "/api/tasks", "--form", "Text=buy milk & eggs"]).standardOutput.isEmpty
        )
        let added = try home.run(["request", "POST", "/tasks", "--json", #"{"task":"call Bob"}"#, "-i"])
            .standardOutput
        #expect(added.hasPrefix("HTTP 201\n") && added.contains(#""task":"call Bob""#))
        let tasks = try home.json(["request", "GET", "/api/tasks"]).array
        #expect(tasks?.compactMap { $0.object?["Text"]?.string } == ["buy milk & eggs", "call Bob"])
        #expect(tasks?.first?.object?["Owner"]?.string == owner)
        let file = try home.write(#"{"task":"call Bob"}"#, to: "task.json")
        try home.run(["request", "DELETE", "/tasks", "--json", "@" + file])
        let piped = try home.run(["request", "POST", "/tasks", "--json", "@-"], input: #"{"task":"call Bob"}"#)
        #expect(piped.standardOutput.contains(#""task":"call Bob""#))
        try home.run(["request", "DELETE", "/tasks", "--json", "@-"], input: #"{"task":"call Bob"}"#)
        let number = try #require(tasks?.first?.object?["Id"]?.integer)
        try home.run(["request", "DELETE", "/api/tasks/\(number)"])
        try home.run(["request", "GET", tenant.base + "/tasks/" + owner, "-o", home.path + "/list"])
        #expect(home.text(of: "list") == "[]")
    }

    @Test func `A status of 400 or more is exit 8 with the body on standard output`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let missing = try home.run(["request", "POST", "/tasks", "--form", "other=1"], exits: 8)
        #expect(try JSONValue.parse(Array(missing.standardOutput.utf8)).object?["code"]?.string == "MissingTask")
        #expect(missing.standardError.contains("409"))
        #expect(try home.run(["request", "GET", "/nothing"], exits: 8).standardOutput.contains("removed"))
    }

    @Test func `A refused token is refreshed once, and the request repeated once`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        tenant.provider.expireTokens()
        #expect(try home.run(["request", "GET", "/tasks"]).standardOutput == "[]")
        #expect(tenant.provider.counters.refreshes == 1)
        #expect(tenant.provider.counters.apiUnauthorized == 1)
        #expect(tenant.provider.counters.apiRequests == 2)
    }

    /// A service that redirects, and remembers the requests it received.
    private final class Service: Sendable {
        let base: String
        private let server: LoopbackServer
        private let authorizations: Mutex<[String]>

        init(redirectingTo location: String, status: Int = 302) throws {
            let seen = Seen()
            server = try LoopbackServer { request in
                seen.authorizations.withLock { $0 += request.values(of: "authorization") }
                guard request.path != "/end" else { return .text(200, "the end") }
                return ServerResponse(status: status, headers: [("Location", location)])
            }
            base = "http://localhost:\(server.port)"
            self.seen = seen
            authorizations = Mutex([])
        }

        private final class Seen: Sendable { let authorizations = Mutex<[String]>([]) }
        private let seen: Seen

        var received: [String] { seen.authorizations.withLock { $0 } }
        deinit { server.stop() }
    }

    @Test func `A foreign origin gets neither the token nor a request`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let foreign = try Service(redirectingTo: "/end")
        for url in [foreign.base + "/end", "http://127.0.0.1:\(foreign.base.split(separator: ":").last ?? "")/end"]
        {
            #expect(try home.run(["request", "GET", url], exits: 7).standardError.contains("is not sent to"))
        }
        try home.run(["request", "GET", "http://api.example.com/"], exits: 7)
        try home.run(["request", "GET", "/tasks", "--header", "Authorization: Bearer mine"], exits: 2)
        #expect(foreign.received.isEmpty)
    }

    @Test func `A redirect to another origin is refused before the token leaves`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let foreign = try Service(redirectingTo: "/end")
        let service = try Service(redirectingTo: foreign.base + "/end")
        var settings = AppSettings(base: tenant.base)
        settings["taskAPI"] = .text(service.base)
        try tenant.define(at: home, settings: settings)
        try tenant.signIn(at: home)
        #expect(try home.run(["request", "GET", "/"], exits: 7).standardError.contains("redirects to"))
        #expect(service.received.count == 1)
        #expect(foreign.received.isEmpty)
    }

    @Test func `A text with a scheme is a URL or a mistake, never a path below the API`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let service = try Service(redirectingTo: "https://u@evil.example/")
        var settings = AppSettings(base: tenant.base)
        settings["taskAPI"] = .text(service.base)
        try tenant.define(at: home, settings: settings)
        try tenant.signIn(at: home)
        for url in [
            "https://u@evil.example/", "https://u:p@evil.example/", "file:///etc/passwd", "https:x", "https:/x",
            "https://evil.example:99999/", "https://evil.example:-1/", "HTTPS:evil", "//evil.example/",
            "mailto:a@b",
            "https://", "http://[::1/", "\\\\evil.example\\x", "javascript:alert(1)", "data:,x",
            "https://evil.example:0/",
        ] {
            try home.run(["request", "POST", "--data", "body", "--", url], exits: 2)
        }
        #expect(service.received.isEmpty)
        #expect(try home.run(["request", "GET", "/end?next=https://x/"]).standardOutput == "the end\n")
        // A redirect to text that is not a URL is not one to a path, either.
        try home.run(["request", "GET", "/"], exits: 1)
        #expect(service.received.count == 2)
    }

    @Test func `A redirect does not leave the path of a rule`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let service = try Service(redirectingTo: "/other/end")
        let host = service.base.dropFirst("http://".count)
        try home.write(
            #"{"rules": [{"host": "\#(host)", "path": "/team", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        for path in ["/other/x", "/team/x"] {
            let refused = try home.run(["request", "GET", service.base + path], exits: 7).standardError
            #expect(refused.contains("is not sent to"))
        }
        // The service within the path got the token; the target of the redirect did not.
        #expect(service.received.count == 1)
    }

    @Test func `A rule for a host lets its account's token go there`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let service = try Service(redirectingTo: tenant.base + "/tasks")
        try home.run(["request", "GET", service.base + "/end"], exits: 7)
        let host = service.base.dropFirst("http://".count)
        try home.write(
            #"{"rules": [{"host": "localhost", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        let told = try home.run(["request", "GET", service.base + "/end"], exits: 7).standardError
        #expect(told.contains("does not match port \(host.drop { $0 != ":" }.dropFirst())"))
        try home.write(
            #"{"rules": [{"host": "\#(host)", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        #expect(try home.run(["request", "GET", service.base + "/end"]).standardOutput == "the end\n")
        #expect(service.received.count == 1)
        // Never along a redirect to another origin, even one that may have the token.
        let before = tenant.provider.counters.apiRequests
        try home.run(["request", "GET", service.base + "/"], exits: 7)
        #expect(tenant.provider.counters.apiRequests == before)
    }

    @Test func `A redirect within the origin is followed`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let service = try Service(redirectingTo: "/end", status: 303)
        var settings = AppSettings(base: tenant.base)
        settings["taskAPI"] = .text(service.base)
        try tenant.define(at: home, settings: settings)
        try tenant.signIn(at: home)
        #expect(try home.run(["request", "POST", "/", "--form", "a=b"]).standardOutput == "the end\n")
        #expect(service.received.count == 2)
    }
}
