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
    private var socket: String { path(of: "dev") }

    private func path(of broker: String) -> String {
        home.environment["XDG_RUNTIME_DIR", default: ""] + "/credmgr-brokers/\(broker)/sock"
    }

    /// Serves a broker until the test ends.
    private func serve(_ broker: String = "dev", _ options: [String] = []) throws -> RunningProcess {
        let server = try home.start(["broker", "serve", broker] + options)
        let note = try server.line(.errors, within: 60)
        #expect(note?.contains("listens at") == true)
        return server
    }

    /// The environment of a sandbox without a home of its own.
    private func sandbox(_ path: String?) throws -> [String: String] {
        var environment = home.environment.filter { !$0.key.hasPrefix("XDG_") }
        environment["HOME"] = "/nonexistent"
        environment["CREDMGR_SOCK"] = path ?? socket
        return environment
    }

    private func ask(
        _ words: [String], input: String = "", program: String = Home.program, at path: String? = nil
    ) throws -> ChildProcess.Outcome {
        try ChildProcess(program, words, environment: try sandbox(path)).run(input: input, seconds: 60)
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

    // MARK: Sockets of systemd

    /// Listens at the broker's socket, and starts the broker with it for each connection, as systemd does. It
    /// prints a line for each start and each end.
    ///
    /// - Parameter isHidden: whether the broker has a mount namespace with an empty directory in place of the
    ///   socket's, as a unit with a `/tmp` of its own.
    private func activate(isHidden: Bool = false) throws -> RunningProcess {
        let script = """
            import os, select, socket, sys
            os.umask(0o077)
            os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
            s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(16)
            print("ready", flush=True)
            while True:
                select.select([s], [], [])
                print("start", flush=True)
                child = os.fork()
                if child == 0:
                    os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
                    os.environ["LISTEN_PID"] = str(os.getpid()); os.environ["LISTEN_FDS"] = "1"
                    os.execv(sys.argv[2], sys.argv[2:])
                print("end", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            """
        let hiding = [
            "/usr/bin/unshare", geteuid() == 0 ? "-m" : "-rm", "/bin/sh", "-c",
            #"/bin/mount -t tmpfs none "$0" && exec "$@""#, String(socket.dropLast("/sock".count)),
        ]
        var words = ["-c", script, socket]
        if isHidden { words += hiding }
        words += [Home.program, "broker", "serve", "dev"]
        let activator = try ChildProcess("python3", words, environment: home.environment).start()
        #expect(try activator.line(within: 60) == "ready")
        return activator
    }

    @Test func `stop ends a broker that systemd starts, also for later connections`() throws {
        try home.run(["broker", "set", "dev", "idle=2s"])
        let activator = try activate()
        #expect(try ask(["token"]).exitStatus == 0)
        #expect(try activator.line(within: 60) == "start")
        // An idle server ends, and the next connection starts another one.
        #expect(try activator.line(within: 60) == "end 0")
        #expect(try ask(["token"]).exitStatus == 0)
        #expect(try activator.line(within: 60) == "start")
        try home.run(["broker", "stop", "dev"])
        #expect(try activator.line(within: 60) == "end 0")
        #expect(!FileManager.default.fileExists(atPath: socket))
        let outcome = try ask(["token"])
        #expect(outcome.exitStatus == 6, "\(outcome.standardError)")
        activator.kill()
        #expect(try activator.line(within: 60) == nil)
    }

    @Test(.needs(.namespaces))
    func `a broker that systemd starts serves a socket that its own mounts hide`() throws {
        let activator = try activate(isHidden: true)
        let outcome = try ask(["token"])
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(try activator.line(within: 60) == "start")
        try home.run(["broker", "stop", "dev"])
        #expect(try activator.line(within: 60) == "end 0")
        #expect(!FileManager.default.fileExists(atPath: socket))
        activator.kill()
        #expect(try activator.line(within: 60) == nil)
    }

    @Test func `a broker that systemd starts ends for good when its time is over`() throws {
        try home.run(["broker", "set", "dev", "for=5s", "idle=1s"])
        let activator = try activate()
        #expect(try ask(["token"]).exitStatus == 0)
        #expect(try activator.line(within: 60) == "start")
        #expect(try activator.line(within: 60) == "end 0")
        #expect(!FileManager.default.fileExists(atPath: socket))
        activator.kill()
        #expect(try activator.line(within: 60) == nil)
    }

    @Test func `stop removes the socket of a broker that systemd has not started`() throws {
        let activator = try activate()
        try home.run(["broker", "stop", "dev"])
        #expect(!FileManager.default.fileExists(atPath: socket))
        activator.kill()
        #expect(try activator.line(within: 60) == nil)
    }

    // MARK: Places and names

    @Test func `show and env name the path of serve's option`() throws {
        let folder = home.path + "/own"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let server = try serve("dev", ["--socket", folder + "/sock"])
        let shown = try home.json(["broker", "show", "dev", "--json"]).object
        #expect(shown?["socket"]?.string == folder + "/sock")
        #expect(try home.run(["broker", "env", "dev"]).line == "CREDMGR_SOCK=\(folder)/sock")
        #expect(try ask(["token"], at: folder + "/sock").exitStatus == 0)
        server.send(SIGTERM)
        #expect(try server.status(within: 60) == 0)
        #expect(try home.run(["broker", "env", "dev"]).line == "CREDMGR_SOCK=\(socket)")
    }

    @Test func `env for ssh names the path that setup ssh-host forwards`() throws {
        let line = try home.run(["broker", "env", "dev", "--for", "ssh"]).line
        #expect(line == "CREDMGR_SOCK=~/.credmgr-brokers/dev/sock")
    }

    @Test(arguments: [
        ["audit", "--broker"], ["audit", "verify", "--broker"], ["audit", "head", "--broker"],
        ["audit", "prune", "--broker"], ["broker", "grants"], ["broker", "forget"], ["broker", "stop"],
    ])
    func `a name that leads out of the folder is refused`(words: [String]) throws {
        try home.run(words + ["../../x"], exits: 2)
    }

    @Test func `audit verify exits with 1 when the broker has no log`() throws {
        let outcome = try home.run(["audit", "verify", "--broker", "dev"], exits: 1)
        #expect(outcome.standardError.contains("broker dev has no audit log"), "\(outcome.standardError)")
    }

    // MARK: Revocation

    /// Defines the broker `own`, which revokes its tokens at a provider of its own.
    private func defineRevoking() throws -> ScriptedProvider {
        let provider = try ScriptedProvider { $0.rotation = .grantsScopes }
        provider.change { $0.metadata["revocation_endpoint"] = .string(provider.base + "/revoke") }
        try home.run([
            "types", "add", "Work", "--scope", "openid read offline_access", "--issuer", provider.base,
            "--client-id", "app",
        ])
        try provider.signIn(at: home)
        try home.run(["broker", "add", "own", "--type", "Work", "--release", "token", "--ask", "never"])
        try home.run(["broker", "set", "own", "own_token=true", "revoke_at_end=true"])
        return provider
    }

    @Test func `a broker revokes the tokens that it released, and the sign-in stays`() throws {
        let provider = try defineRevoking()
        let server = try serve("own")
        let outcome = try ask(["token"], at: path(of: "own")), released = outcome.line
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        server.send(SIGTERM)
        let ended = try server.outcome(within: 60)
        #expect(ended.exitStatus == 0, "\(ended.standardError)")
        #expect(!ended.standardError.contains("warning"), "\(ended.standardError)")
        let revocations = provider.forms.filter { $0["token_type_hint"] != nil }
        #expect(revocations.map { $0["token"] } == [released])
        #expect(revocations.map { $0["token_type_hint"] } == ["access_token"])
        // The refresh token stays, and the revoked token is not given out again.
        try home.run(["token", "--type", "Work", "--force-refresh"])
        #expect(provider.refusals == 0)
        let next = try serve("own")
        let other = try ask(["token"], at: path(of: "own"))
        #expect(other.exitStatus == 0, "\(other.standardError)")
        #expect(other.line != released)
        #expect(next.isRunning)
    }

    @Test func `a broker reports the tokens that its provider has not revoked`() throws {
        let provider = try defineRevoking()
        provider.change { $0.revocation = .json(503, [:]) }
        let server = try serve("own")
        #expect(try ask(["token"], at: path(of: "own")).exitStatus == 0)
        try home.run(["broker", "stop", "own"])
        let ended = try server.outcome(within: 60)
        #expect(ended.exitStatus == 0, "\(ended.standardError)")
        let warning = "warning: the broker has not revoked 1 access token of account "
        #expect(ended.standardError.contains(warning), "\(ended.standardError)")
        #expect(try home.run(["audit", "--broker", "own", "--json"]).standardOutput.contains("not_revoked:1"))
    }

    @Test func `a broker that must revoke tokens is not served when its provider has no revocation`() throws {
        try home.run(["broker", "set", "dev", "own_token=true", "revoke_at_end=true"])
        let refused = try home.run(["broker", "serve", "dev"], exits: 2).standardError
        #expect(refused.contains("revocation"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    // MARK: Commands

    @Test func `the small program alone refuses commands that change accounts, and names them`() throws {
        let prefix = try Installation(standIn: Installation.recorder)
        try FileManager.default.removeItem(atPath: prefix.full)
        for word in ["login", "logout", "refresh", "store", "broker", "setup"] {
            let outcome = try ask([word], program: prefix.small)
            #expect(outcome.exitStatus == 2, "\(word): \(outcome.standardError)")
            #expect(outcome.standardError.hasPrefix("credmgr: error: '\(word)' is not available at the broker's"))
        }
        let other = try ask(["types"], program: prefix.small)
        #expect(other.exitStatus == 1)
        #expect(other.standardError.hasPrefix("credmgr: error: the full program is missing: "))
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

    @Test(arguments: [nil, "oauth2"] as [String?])
    func `helpers for other programs print at the socket what they print on the host`(username: String?) throws {
        let type = DemoTenant.typeName
        var rule = JSONObject(["host": "git.example.com", "type": .string(type)])
        if let username { rule["username"] = .string(username) }
        let rules = JSONObject(["rules": [.object(rule)]])
        try home.write(JSONValue.object(rules).text(), to: "config/credmgr/config.json")
        let server = try serve()
        let request = #"{"v":1,"registry":{"index-url":"sparse+https://git.example.com/"},"kind":"get"}"#
        let calls: [(words: [String], input: String)] = [
            (["goauth", "https://git.example.com"], ""), (["terraform", "get", "git.example.com"], ""),
            (["bazel", "get"], #"{"uri":"https://git.example.com/a"}"#), (["cargo"], request + "\n"),
            (["keyring", "--mode", "creds", "get", "https://git.example.com/simple/"], ""),
            (["oidc-token", "--all", type], ""),
        ]
        for (words, input) in calls {
            let own = try home.run(words, input: input), outcome = try ask(words, input: input)
            #expect(outcome.exitStatus == 0, "\(words): \(outcome.standardError)")
            #expect(outcome.standardOutput == own.standardOutput, "\(words)")
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
