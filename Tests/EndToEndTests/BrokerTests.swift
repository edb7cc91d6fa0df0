import Foundation
import StrictJSON
import TestSupport
import Testing

/// A broker with the real program, a real provider and a real socket.
@Suite struct BrokerTests {
    private let home: Home
    private let tenant: DemoTenant

    init() throws {
        home = try Home(["CREDMGR_CACHE": "on"])
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try home.run(
            ["broker", "add", "dev", "--type", DemoTenant.typeName, "--release", "token", "--ask", "never"])
    }

    /// The path of a broker's socket.
    private var socket: String { home.environment["XDG_RUNTIME_DIR", default: ""] + "/credmgr-brokers/dev/sock" }

    /// Serves a broker until the test ends.
    private func serve() throws -> RunningProcess {
        let server = try home.start(["broker", "serve", "dev"])
        let note = try server.line(.errors, within: 60)
        #expect(note?.contains("listens at") == true)
        return server
    }

    /// The environment of a sandbox without a home of its own.
    private func sandbox() throws -> [String: String] {
        var environment = home.environment.filter { !$0.key.hasPrefix("XDG_") }
        environment["HOME"] = "/nonexistent"
        environment["CREDMGR_SOCK"] = socket
        return environment
    }

    private func ask(
        _ words: [String], input: String = "", program: String = Home.program
    ) throws -> ChildProcess.Outcome {
        try ChildProcess(program, words, environment: try sandbox()).run(input: input, seconds: 60)
    }

    /// Sends lines to the socket and returns the replies, by a program of its own.
    private func lines(_ text: String) throws -> String {
        let script = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[1])
            s.sendall(sys.stdin.buffer.read()); s.shutdown(1)
            while True:
                data = s.recv(65536)
                if not data: break
                sys.stdout.buffer.write(data)
            """
        return try ChildProcess("python3", ["-c", script, socket], environment: home.environment)
            .run(input: text, seconds: 60).standardOutput
    }

    @Test func `token at the socket prints what token prints on the host`() throws {
        let server = try serve()
        let own = try home.run(["token"]).line
        let outcome = try ask(["token"])
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(outcome.line == own)
        let json = try JSONValue.parse(try ask(["token", "--format", "json"]).standardOutput)
        #expect(json.object?["access_token"]?.string == own)
        #expect(json.object?["account"]?.object?["username"] == "alice@example.com")
        server.send(SIGTERM)
        #expect(try server.status(within: 60) == 0)
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test func `a token is refreshed for the sandbox when it has ended, and no refresh token reaches the socket`()
        throws
    {
        tenant.provider.change { $0.accessTokenLifetime = 2 }
        try home.run(["token", "--force-refresh"])
        let server = try serve()
        let first = try ask(["token"]).line
        var next = first
        let end = ContinuousClock.now + .seconds(60)
        while next == first, ContinuousClock.now < end { next = try ask(["token"]).line }
        #expect(next != first, "the token, which lives for 2 s, was not replaced within 60 s")
        #expect(tenant.provider.counters.tokenRequests >= 3)
        let replies = try lines("{\"op\":\"hello\"}\n{\"op\":\"list\"}\n{\"op\":\"token\",\"v\":1}\n")
        #expect(replies.split(separator: "\n").count == 3)
        #expect(!replies.contains("refresh"))
        // The provider's secrets are the tokens: only the access token may be in the reply.
        let shown = try #require(JSONValue.parse(String(replies.split(separator: "\n")[2])).object)
        let token = try #require(shown["access_token"]?.string)
        #expect(tenant.provider.secrets.filter { replies.contains($0) }.allSatisfy { $0 == token })
        server.send(SIGTERM)
        #expect(try server.status(within: 60) == 0)
    }

    @Test func `a wider scope is refused at the socket`() throws {
        let server = try serve()
        let outcome = try ask(["token", "--scope", "everything"])
        #expect(outcome.exitStatus == 7)
        #expect(outcome.standardOutput.isEmpty)
        #expect(outcome.standardError.contains("too_broad"))
        #expect(try ask(["token", "--type", "Other"]).exitStatus == 7)
        #expect(server.isRunning)
    }

    @Test func `token at the socket exits with 4 at once when the account has signed out`() throws {
        let server = try serve()
        #expect(try ask(["token"]).exitStatus == 0)
        try home.run(["logout", "--all", "--yes"])
        let outcome = try ask(["token"])
        #expect(outcome.exitStatus == 4, "\(outcome.standardError)")
        #expect(outcome.standardOutput.isEmpty)
        #expect(server.isRunning)
    }

    @Test func `a second server exits with 6 and names the first`() throws {
        let server = try serve()
        let outcome = try home.run(["broker", "serve", "dev"], exits: 6)
        #expect(outcome.standardError.contains("by process \(server.id)"))
        #expect(try ask(["token"]).exitStatus == 0)
    }

    @Test func `no token is released after stop has returned`() throws {
        let server = try serve()
        #expect(try ask(["token"]).exitStatus == 0)
        try home.run(["broker", "stop", "dev"])
        let outcome = try ask(["token"])
        #expect(outcome.exitStatus == 6, "\(outcome.standardError)")
        #expect(outcome.standardOutput.isEmpty)
        #expect(try server.status(within: 60) == 0)
    }

    @Test func `commands that change accounts exit with 2 and name the socket`() throws {
        for words in [
            ["login"], ["logout"], ["refresh"], ["store", "status"], ["broker", "list"], ["setup", "git"],
            ["types"],
            ["use", "x"], ["rules"], ["watch"], ["groups"],
        ] {
            let outcome = try ask(words)
            #expect(outcome.exitStatus == 2, "\(words): \(outcome.standardError)")
            #expect(outcome.standardError.contains(socket), "\(words): \(outcome.standardError)")
        }
        #expect(try ask(["version"]).exitStatus == 0)
        #expect(try ask(["doctor"]).exitStatus == 1)
    }

    @Test func `which, accounts, status and doctor answer from the socket`() throws {
        let server = try serve()
        #expect(try ask(["which"]).line.hasSuffix("alice@example.com"))
        #expect(try ask(["accounts"]).standardOutput.contains("alice@example.com"))
        #expect(try ask(["status"]).standardOutput.contains("active"))
        let doctor = try ask(["doctor"])
        #expect(doctor.exitStatus == 0, "\(doctor.standardError)")
        #expect(doctor.standardOutput.contains("broker dev answers"))
        #expect(server.isRunning)
    }

    @Test func `exec at the socket gives the command the token`() throws {
        let server = try serve()
        let own = try home.run(["token"]).line
        let installation = try Installation()
        for program in [Home.program, installation.small] {
            let outcome = try ask(["exec", "--", "/bin/sh", "-c", "echo $ACCESS_TOKEN; exit 3"], program: program)
            #expect(outcome.exitStatus == 3, "\(outcome.standardError)")
            #expect(outcome.line == own)
        }
        #expect(server.isRunning)
    }

    @Test func `the small program answers at the socket without the full one`() throws {
        let server = try serve()
        let own = try home.run(["token"]).line
        let prefix = try Installation(standIn: Installation.recorder)
        let outcome = try ask(["token"], program: prefix.small)
        #expect(outcome.line == own, "\(outcome.standardError)")
        let refused = try ask(["token", "--scope", "everything"], program: prefix.small)
        #expect(refused.exitStatus == 7)
        #expect(refused.standardError.contains("too_broad"))
        #expect(try ask(["kubernetes"], program: prefix.small).standardOutput.contains(own))
        #expect(server.isRunning)
    }

    @Test func `the client sends nothing when others can write the socket's directory`() throws {
        let server = try serve()
        let folder = String(socket.dropLast("/sock".count))
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
        #expect(try ask(["token"]).exitStatus == 7)
        let prefix = try Installation(standIn: Installation.recorder)
        #expect(try ask(["token"], program: prefix.small).exitStatus == 7)
        try home.run(["broker", "stop", "dev"])
        #expect(try server.status(within: 60) == 0)
        try home.run(["broker", "serve", "dev"], exits: 5)
    }

    @Test func `exec with a broker serves it while the command runs`() throws {
        let own = try home.run(["token"]).line
        let script = #"echo "$CREDMGR_SOCK"; "$1" token; exit 5"#
        let outcome = try ChildProcess(
            Home.program, ["exec", "--broker", "dev", "--", "/bin/sh", "-c", script, "sh", Home.program],
            environment: home.environment
        ).run(seconds: 60)
        #expect(outcome.exitStatus == 5, "\(outcome.standardError)")
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        #expect(lines.count == 2)
        #expect(lines.last == own)
        let folder = String(lines.first?.dropLast("/sock".count) ?? "")
        #expect(folder.contains("/credmgr-brokers/dev."))
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `a connection that passes a descriptor is closed`() throws {
        let server = try serve()
        let script = """
            import array, socket, sys
            s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[1])
            s.sendmsg([b'{"op":"hello"}\\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])
            try: print(len(s.recv(4096)))
            except ConnectionResetError: print(0)
            """
        let outcome = try ChildProcess("python3", ["-c", script, socket], environment: home.environment)
            .run(seconds: 60)
        #expect(outcome.line == "0", "\(outcome.standardError)")
        #expect(server.isRunning)
    }
}
