import CredentialCore
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The protocols of package managers and build tools.
@Suite struct `Helpers of package managers` {
    private let home: Home
    private let tenant: DemoTenant
    private let token: String

    init() throws {
        home = try Home()
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let type = DemoTenant.typeName
        try home.write(
            #"""
            {"rules": [{"host": "pypi.example.com", "type": "\#(type)"},
                       {"host": "go.example.com", "type": "\#(type)", "username": "robot"}]}
            """#, to: "config/credmgr/config.json")
        token = try home.run(["token"]).line
    }

    private func link(_ name: String) throws -> String {
        let path = home.path + "/" + name
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: Home.program)
        return path
    }

    /// Servers and names that get no token.
    private static let foreign = [
        "https://evil.example/simple/", "https://pypi.example.com:8443/simple/", "http://pypi.example.com/",
        "https://pypi.example.com@evil.example/", "pypi.example.com.evil.example", "https://", "", " ", "a b",
        "file:///etc/passwd", "https://pypi.example.com\u{0}", "https://pypi.example.com\nevil.example",
        String(repeating: "x", count: 100_000),
    ]

    // MARK: keyring

    @Test func `pip, uv and twine accept the output of keyring`() throws {
        func ask(_ words: String...) throws -> String { try home.run(["keyring"] + words).standardOutput }
        let url = "https://pypi.example.com/simple/"
        #expect(try ask("get", url, "__token__") == token + "\n")
        #expect(try ask("get", "pypi.example.com", "alice@example.com") == token + "\n")
        #expect(try ask("--mode", "creds", "get", url) == "__token__\n\(token)\n")
        let json = try JSONValue.parse(try ask("--mode=creds", "--output=json", "get", url)).object
        #expect(json?["username"]?.string == "__token__" && json?["password"]?.string == token)
        let bare = try JSONValue.parse(try ask("--output=json", "get", url, "alice@example.com")).object
        #expect(bare?.keys == ["password"])
        for place in Self.foreign where !place.contains("\u{0}") {
            #expect(try home.run(["keyring", "get", "--", place], exits: 1).standardOutput.isEmpty, "\(place)")
        }
        try home.run(["keyring", "get", url, "bob@example.com"], exits: 1)
        try home.run(["keyring", "set", url, "bob"], exits: 2)
    }

    @Test func `the keyring shim passes unknown requests to the real one`() throws {
        let shim = try link("keyring")
        let real = try home.write("#!/bin/sh\necho \"real $*\"\nexit 7\n", to: "bin/keyring", mode: 0o700)
        var environment = home.environment
        environment["PATH"] = "\(home.path):\(home.path)/bin:/usr/bin:/bin"
        func run(_ words: String...) throws -> ChildProcess.Outcome {
            try ChildProcess(shim, words, environment: environment).run()
        }
        #expect(FileManager.default.isExecutableFile(atPath: real))
        #expect(
            try run("--mode=creds", "get", "https://pypi.example.com/").standardOutput == "__token__\n\(token)\n")
        #expect(try run("get", "pypi.example.com", "__token__").standardOutput == token + "\n")
        let other = try run("get", "https://evil.example/", "ada")
        #expect(other.standardOutput == "real get https://evil.example/ ada\n" && other.exitStatus == 7)
        #expect(try run("--list-backends").standardOutput == "real --list-backends\n")
        #expect(try run("set", "https://pypi.example.com/", "ada").standardOutput.hasPrefix("real set"))
        environment["PATH"] = "\(home.path):/usr/bin:/bin"
        let alone = try ChildProcess(shim, ["get", "https://evil.example/"], environment: environment).run()
        #expect(alone.standardOutput.isEmpty && alone.exitStatus == 1)
    }

    // MARK: cargo

    @Test func `cargo's protocol is answered line by line`() throws {
        let provider = try link("cargo-credential-credmgr")
        func request(_ url: String, _ more: String = "", kind: String = "get") -> String {
            #"{"v":1,"registry":{"index-url":"\#(url)","headers":[\#(more)]},"kind":"\#(kind)","operation":"read","args":[]}"#
        }
        let index = "sparse+https://pypi.example.com/index/"
        let input = [
            request(index), request(index, #""WWW-Authenticate: Bearer realm=\"x\"""#),
            request(index, #""www-authenticate: Cargo login_url=\"https://x\"""#),
            request("sparse+https://evil.example/index/"), request(index, kind: "logout"), "not JSON", #"{"v":2}"#,
            // The text behind a plus of the address itself is no address.
            request("https://evil.example/+https://pypi.example.com/index/"),
            request("sparse+https://evil.example/a+https://pypi.example.com/index/"),
        ].joined(separator: "\n")
        let outcome = try ChildProcess(provider, ["--cargo-plugin"], environment: home.environment)
            .run(input: input + "\n")
        let lines = try outcome.standardOutput.split(separator: "\n").map { try JSONValue.parse(String($0)).object }
        try #require(lines.count == 10, "\(outcome.standardOutput) \(outcome.standardError)")
        #expect(lines[0]?["v"] == [1])
        let first = lines[1]?["Ok"]?.object
        #expect(first?["kind"] == "get" && first?["token"]?.string == token && first?["cache"] == "expires")
        #expect(first?["operation_independent"] == true && first?["expiration"]?.integer != nil)
        #expect(lines[2]?["Ok"]?.object?["token"]?.string == "Bearer " + token)
        #expect(lines[3]?["Ok"]?.object?["token"]?.string == token)
        #expect(lines[4]?["Err"]?.object?["kind"] == "url-not-supported")
        #expect(lines[5]?["Err"]?.object?["kind"] == "operation-not-supported")
        #expect(lines[6]?["Err"]?.object?["kind"] == "other" && lines[7]?["Err"]?.object?["kind"] == "other")
        for line in lines.suffix(2) { #expect(line?["Err"]?.object?["kind"] == "url-not-supported") }
        #expect(try home.run(["token"]).line == token)
    }

    // MARK: Terraform, Bazel, Go

    @Test func `Terraform gets an object with a token, or an empty one`() throws {
        let helper = try link("terraform-credentials-credmgr")
        func ask(_ words: String..., input: String = "") throws -> ChildProcess.Outcome {
            try ChildProcess(helper, words, environment: home.environment).run(input: input)
        }
        #expect(try ask("get", "pypi.example.com").standardOutput == #"{"token":"\#(token)"}"# + "\n")
        for host in Self.foreign where !host.isEmpty && !host.contains("\u{0}") {
            #expect(try ask("get", host).standardOutput == "{}\n", "\(host.prefix(60))")
        }
        #expect(try ask("forget", "pypi.example.com").exitStatus == 0)
        #expect(try ask("store", "pypi.example.com", input: #"{"token":"x"}"#).exitStatus == 2)
        #expect(try home.run(["token"]).line == token)
    }

    @Test func `Bazel gets header fields, or none`() throws {
        func ask(_ uri: String) throws -> JSONObject? {
            try JSONValue.parse(
                try home.run(["bazel", "get"], input: JSONValue.object(JSONObject(["uri": .string(uri)])).text())
                    .standardOutput
            ).object
        }
        let given = try ask("https://pypi.example.com/cache/x")
        #expect(given?["headers"]?.object?["Authorization"] == [.string("Bearer " + token)])
        #expect(given?["expires"]?.string?.hasSuffix("Z") == true)
        let basic = Base64URL.encodeOrdinary(Array("robot:\(token)".utf8))
        #expect(
            try ask("https://go.example.com/")?["headers"]?.object?["Authorization"] == [.string("Basic " + basic)])
        for place in Self.foreign { #expect(try ask(place)?["headers"]?.object?.isEmpty == true) }
        try home.run(["bazel", "get"], input: "{", exits: 2)
        try home.run(["bazel", "get"], input: String(repeating: "x", count: 2 << 20), exits: 2)
    }

    @Test func `go gets a header field for the URL that was refused`() throws {
        #expect(try home.run(["goauth"]).standardOutput.isEmpty)
        #expect(
            try home.run(
                ["goauth", "https://pypi.example.com/team/mod"], input: "HTTP/1.1 401 Unauthorized\r\n\r\n"
            )
            .standardOutput == "https://pypi.example.com\n\nAuthorization: Bearer \(token)\n\n")
        for place in Self.foreign where !place.contains("\u{0}") {
            #expect(try home.run(["goauth", "--", place]).standardOutput.isEmpty)
        }
    }

    @Test func `go gets one over the loopback as well, and hears why it gets none`() throws {
        let place = tenant.base + "/team/mod"
        func why(_ place: String) throws -> String {
            let told = try home.run(["goauth", "-v", "--", place])
            #expect(told.standardOutput.isEmpty, "\(place)")
            return told.standardError
        }
        #expect(try why("http://localhost:9/team/mod").contains("nothing is given: no account type has "))
        #expect(
            try why("http://pypi.example.com/").contains(
                "nothing is given: a token is not sent over plain http to pypi.example.com"))
        for none in ["pypi.example.com", "imaps://pypi.example.com/", "a b"] {
            #expect(try why(none).contains("nothing is given: \(none) is no server for tokens"), "\(none)")
        }
        #expect(
            try home.run(["goauth", place]).standardOutput
                == "\(tenant.base)\n\nAuthorization: Bearer \(token)\n\n")
    }

    // MARK: Formats

    @Test func `XOAUTH2 and header fields as JSON`() throws {
        let said = try home.run(["token", "--format", "xoauth2"]).line
        let plain = try #require(Base64URL.decodeOrdinary(said))
        #expect(plain == Array("user=alice@example.com\u{1}auth=Bearer \(token)\u{1}\u{1}".utf8))
        #expect(
            try home.run(["token", "--format", "headers-json"]).standardOutput
                == #"{"Authorization":"Bearer \#(token)"}"# + "\n")
        let both = try home.json(["token", "--id-token", "--format", "json"]).object
        #expect(both?["access_token"]?.string == token)
        #expect(try both?["id_token"]?.string == home.run(["token", "--id-token"]).line)
    }

    @Test func `mail programs ask git's helper by their protocols`() throws {
        try home.write(
            #"{"rules": [{"host": "mail.example.com", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        for (scheme, host) in [
            ("smtp", "mail.example.com:587"), ("smtp", "mail.example.com:465"), ("smtp", "mail.example.com"),
            ("smtps", "mail.example.com"), ("imap", "mail.example.com:143"), ("imaps", "mail.example.com:993"),
        ] {
            let given = try home.run(
                ["git-credential", "get"],
                input: "protocol=\(scheme)\nhost=\(host)\nusername=alice@example.com\n\n")
            #expect(
                given.standardOutput.hasPrefix("username=alice@example.com\npassword=\(token)\n"),
                "\(scheme) \(host)")
        }
        for (scheme, host) in [
            ("smtp", "mail.example.com:25"), ("pop3s", "mail.example.com"), ("imaps", "evil.example"),
        ] {
            let none = try home.run(
                ["git-credential", "get", "-v"], input: "protocol=\(scheme)\nhost=\(host)\n\n")
            #expect(none.standardOutput.isEmpty && none.standardError.contains("nothing is given"))
        }
    }
}
