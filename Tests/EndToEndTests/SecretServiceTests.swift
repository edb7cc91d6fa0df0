import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite(.needs(.keyring))
struct `With a real keyring` {
    private func desktop(_ provider: PrivateKeyring.Provider = .gnomeKeyring) throws -> (Home, PrivateKeyring) {
        let keyring = try PrivateKeyring(provider)
        return (try Home(["DBUS_SESSION_BUS_ADDRESS": keyring.busAddress]), keyring)
    }

    /// The items that `secret-tool` finds by attributes.
    private func search(_ attributes: [String], _ keyring: PrivateKeyring) throws -> String {
        let outcome = try ChildProcess(
            "secret-tool", ["search", "--all"] + attributes, environment: keyring.environment
        ).run(seconds: 20)
        return outcome.standardOutput + outcome.standardError
    }

    @Test func `The newcomer's flow, and the contents of the keyring`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let account = try home.json(["accounts", "--json"]).array?.first?.object
        #expect(account?["store"]?.string == "secret-service")

        let token = try home.run(["token"]).line
        try home.run(["token", "--force-refresh"])
        try home.run(["token", "--force-refresh"])
        #expect(try home.run(["token"]).line != token)
        try home.run(["request", "POST", "/tasks", "--form", "task=milk"])
        try home.run(["claims"])

        let items = try search(["group", DemoTenant.group], keyring)
        #expect(items.components(separatedBy: "label = ").count == 2)
        #expect(items.contains("label = credmgr: B2C_Acccount alice@example.com\n"))
        #expect(items.contains("schema = org.credmgr.TokenSet"))
        let attributes = items.split(separator: "\n").compactMap { line -> String? in
            line.hasPrefix("attribute.") ? String(line.dropFirst("attribute.".count)) : nil
        }
        #expect(
            attributes.sorted() == ["account = \(id)", "group = \(DemoTenant.group)", "kind = \(kind(attributes))"])
        let secret = items.split(separator: "\n").first { $0.hasPrefix("secret = ") }?.dropFirst("secret = ".count)
        let set = try JSONValue.parse(Array((secret ?? "").utf8)).object
        #expect(set?["generation"]?.integer == 3)
        // No pending sign-in is left, and no secret is in a file.
        #expect(try !search(["kind", "pending-sign-in"], keyring).contains("label"))
        #expect(!home.files.keys.contains { $0.contains("store.v1") || $0.hasSuffix("file-store.key") })

        try home.run(["logout", "--type", DemoTenant.typeName])
        #expect(try !search(["group", DemoTenant.group], keyring).contains("label"))
    }

    private func kind(_ attributes: [String]) -> String {
        attributes.first { $0.hasPrefix("kind = ") }.map { String($0.dropFirst("kind = ".count)) } ?? ""
    }

    @Test func `An account stays in its store, and a sign-in that names the other store says so`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let file = ["--store", "file"]
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"] + file).line
        let done = try home.run(["login", "--complete", try tenant.redirect(from: url)] + file)
        #expect(
            done.standardError.contains(
                "note: the account stays in the Secret Service; to move it: credmgr store migrate --to file --group \(DemoTenant.group)\n"
            ))
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["store"] == "secret-service")
        keyring.stop()
    }

    /// The program stopped at its message number `place` to the keyring, until `meanwhile` is done.
    ///
    /// - Returns: the outcome; `nil` if it sends fewer messages.
    private func stopped(
        _ words: [String], at place: Int, in home: Home, _ meanwhile: () throws -> Void
    ) throws -> ChildProcess.Outcome? {
        let call = try StoppedCall(words, at: place, in: home)
        guard call.isStopped else {
            _ = try call.outcome()
            return nil
        }
        // The process continues in any case.
        let failure = Result { try meanwhile() }
        let outcome = try call.outcome()
        try failure.get()
        return outcome
    }

    @Test(.needs(.tracing))
    func `A token is read at whatever moment the move of its account has come to`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let token = try home.run(["token"]).line,
            migrate = ["store", "migrate", "--group", DemoTenant.group, "--to"]
        var moments = 0
        // The move has the account's lock, and is in the middle of its messages to the keyring.
        func readsToken() throws {
            let read = try home.run(["token"]).line
            #expect(read == token, "message \(moments + 1)")
        }
        while let moved = try stopped(migrate + ["file"], at: moments + 1, in: home, readsToken) {
            moments += 1
            #expect(moved.exitStatus == 0, "message \(moments): \(moved.standardError)")
            try readsToken()
            try home.run(migrate + ["secret-service"])
        }
        #expect(moments > 3, "it was stopped among its messages to the keyring")
        keyring.stop()
    }

    @Test(.needs(.tracing))
    func `A token beside a sign-out is printed, or is exit 3 or 4, at whatever moment it reads`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        defer { keyring.stop() }
        var moments = 0, silent = 0
        while true {
            try tenant.signIn(at: home)
            // It has the account's lock from its first message on, so the reader goes on without that.
            let signOut = try StoppedCall(["logout", "--type", DemoTenant.typeName], at: 1, in: home)
            try #require(signOut.isStopped)
            let token = try StoppedCall(["token"], at: moments + 1, in: home)
            let left = try signOut.outcome()
            #expect(left.exitStatus == 0, "message \(moments + 1): \(left.standardError)")
            let read = try token.outcome()
            // A busy machine may stop the reader for longer than a keyring is waited for.
            if read.exitStatus == 5, read.standardError.contains("does not respond"), silent < 5 {
                silent += 1
                continue
            }
            #expect([0, 3, 4].contains(read.exitStatus), "message \(moments + 1): \(read.standardError)")
            guard token.isStopped else { break }
            moments += 1
        }
        #expect(moments > 3, "it was stopped among its messages to the keyring")
    }

    @Test func `A locked keyring is exit 5, and never no account`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        try keyring.lock()
        for words in [
            ["token"], ["token", "--no-input"], ["claims"], ["request", "GET", "/tasks"],
            ["token", "--force-refresh"],
            ["logout", "--account", id],
        ] {
            let error = try home.run(words, exits: 5).standardError
            #expect(error.contains("locked"), "\(words)")
            #expect(error.contains("credmgr: hint: "), "\(words)")
        }
        let account = try home.json(["accounts", "--json"]).array?.first?.object
        #expect(account?["id"]?.string == id)
        #expect(account?["store"]?.string == "secret-service")
        #expect(try home.run(["store", "status"]).standardOutput.contains("secret-service: locked"))
        // A user that has a token needs no sign-in, though the keyring is locked.
        let needed = ["login", "--type", DemoTenant.typeName, "--if-needed"], cached = ["CREDMGR_CACHE": "on"]
        try home.run(needed, environment: cached, exits: 5)
        try keyring.unlock()
        try home.run(["token"], environment: cached)
        try keyring.lock()
        #expect(try home.run(needed, environment: cached).standardOutput.contains(id))
        // A sign-in goes nowhere else.
        try home.run(["login", "--type", DemoTenant.typeName, "--print-url"], exits: 5)
        try keyring.unlock()
        try home.run(["token"])
    }

    @Test func `A bus that is gone is exit 5 naming the store, without a second copy`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        keyring.stopBus()
        let before = home.files
        for words in [["token"], ["token", "--force-refresh"], ["claims"], ["token", "--store", "file"]] {
            #expect(try home.run(words, exits: 5).standardError.contains("Secret Service"), "\(words)")
        }
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string == id)
        // A lock names who held it last.
        #expect(home.files.filter { !$0.key.contains("/locks/") } == before.filter { !$0.key.contains("/locks/") })
        #expect(tenant.provider.counters.refreshes == 0)
    }

    @Test func `An account with an unavailable store keeps no other from its sign-in, and the hint helps`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home)
        try tenant.signIn(DemoTenant.bob, at: home, more: ["--store", "file"])
        let bob = try #require(
            try home.json(["accounts", "--json"]).array?.first { $0.object?["store"]?.string == "file" }?.object)
        keyring.stopBus()
        #expect(
            try home.run(["token", "--account", alice], exits: 5).standardError.contains("--duplicate --store file")
        )
        let error = try home.run(["logout", "--all", "--yes"], exits: 5).standardError
        #expect(error.contains("error: \(alice) (alice@example.com) was not forgotten"))
        #expect(error.contains("note: forgot \(bob["id"]?.string ?? "")"))
        try tenant.signIn(at: home, more: ["--duplicate", "--store", "file"])
        let accounts = try home.json(["accounts", "--json"]).array
        #expect(accounts?.compactMap { $0.object?["store"]?.string } == ["secret-service", "file"])
    }

    @Test
    func `A keyring that is locked before the first sign-in is unlocked by the hint, or left out by the other`()
        throws
    {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        defer { keyring.stop() }
        try tenant.define(at: home)
        try keyring.lock()
        let login = ["login", "--type", DemoTenant.typeName, "--print-url"]
        let refused = try home.run(login, exits: 5).standardError
        #expect(refused.contains(": credmgr store unlock\n"), "\(refused)")
        #expect(refused.contains("credmgr login --type \(DemoTenant.typeName) --store file\n"))
        let unlock = try home.run(["store", "unlock"], exits: 5).standardError
        #expect(!unlock.contains("nothing to unlock") && unlock.contains("--store file"), "\(unlock)")
        try keyring.unlock()
        #expect(try home.run(["store", "unlock"]).standardError.contains("the keyring is unlocked"))
        try home.run(login)
        try keyring.lock()
        try home.run(login + ["--store", "file"])
    }

    @Test func `A bus variable that has outlived its session is named, and leaving it out helps`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        defer { keyring.stop() }
        try tenant.signIn(at: home)
        let bus = try #require(home.environment["DBUS_SESSION_BUS_ADDRESS"])
        let path = try #require(bus.split(separator: "=").dropFirst().first?.prefix { $0 != "," })
        try? FileManager.default.removeItem(atPath: home.path + "/run/bus")
        try FileManager.default.createSymbolicLink(
            atPath: home.path + "/run/bus", withDestinationPath: String(path))
        let stale = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(home.path)/gone"]
        let login = ["login", "--type", DemoTenant.typeName, "--store", "secret-service", "--print-url"]
        for words in [["token", "--force-refresh"], login] {
            let refused = try home.run(words, environment: stale, exits: 5).standardError
            #expect(refused.contains("the session bus in DBUS_SESSION_BUS_ADDRESS does not respond"), "\(refused)")
            #expect(
                refused.contains(
                    "your session bus is at unix:path=\(home.path)/run/bus: unset DBUS_SESSION_BUS_ADDRESS"))
        }
        try home.run(["token", "--force-refresh"], environment: ["DBUS_SESSION_BUS_ADDRESS": ""])
    }

    @Test func `A service that is gone for a while loses nothing`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let token = try home.run(["token"]).line
        keyring.stopService()
        try home.run(["token"], exits: 5)
        try keyring.startService()
        #expect(try home.run(["token"]).line == token)
    }

    @Test func `A bus without a keyring is no Secret Service: the file is taken, and said`() throws {
        let (home, keyring) = try desktop(.nobody), tenant = try DemoTenant()
        defer { keyring.stop() }
        try tenant.define(at: home)
        let outcome = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"])
        let done = try home.run(["login", "--complete", try tenant.redirect(from: outcome.line)])
        #expect(done.standardError.contains("encrypted file"))
        #expect(!done.standardError.contains("credmgr: warning"))
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["store"]?.string == "file")
    }

    @Test func `Option beats environment beats configuration`() throws {
        let (home, keyring) = try desktop(), tenant = try DemoTenant()
        defer { keyring.stop() }
        func store(_ options: [String], _ environment: [String: String] = [:]) throws -> String? {
            let login = ["login", "--type", DemoTenant.typeName, "--duplicate"] + options
            let url = try home.run(login + ["--print-url"], environment: environment).line
            let redirect = try tenant.redirect(from: url)
            let id = try home.run(["login", "--complete", redirect]).line.prefix { $0 != "\t" }
            return try home.json(["accounts", "--json"]).array?.first { $0.object?["id"]?.string == String(id) }?
                .object?["store"]?.string
        }
        try tenant.define(at: home)
        #expect(try store([]) == "secret-service")
        #expect(try store(["--store", "file"]) == "file")
        #expect(try store([], ["CREDMGR_STORE": "file"]) == "file")
        #expect(try store(["--store", "secret-service"], ["CREDMGR_STORE": "file"]) == "secret-service")
        try home.write(#"{"store":"file"}"#, to: "config/credmgr/config.json")
        #expect(try store([]) == "file")
        #expect(try store(["--store", "auto"]) == "secret-service")
        #expect(try store([], ["CREDMGR_STORE": "secret-service"]) == "secret-service")
    }
}

/// A call of the program that is stopped when it has sent a message to the keyring.
private final class StoppedCall {
    private let words: [String]
    private let run: RunningProcess
    private let process: pid_t?
    /// Whether it sends so many messages; if not, it has ended.
    var isStopped: Bool { process != nil }

    /// Starts the program, and waits until it is stopped at its message number `place`, or has ended.
    init(_ words: [String], at place: Int, in home: Home) throws {
        self.words = words
        let log = home.path + "/strace-" + UUID().uuidString
        let arguments =
            ["-f", "-o", log, "-e", "trace=sendmsg", "-e", "inject=sendmsg:signal=STOP:when=\(place)"]
            + [Home.program] + words
        run = try ChildProcess("strace", arguments, environment: home.environment).start()
        func stops() -> [Substring] {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            return text.split(separator: "\n").filter { $0.contains("stopped by SIGSTOP") }
        }
        let limit = ContinuousClock.now + .seconds(60)
        while run.isRunning, stops().isEmpty {
            try #require(ContinuousClock.now < limit, "\(words) has neither stopped nor ended within 60 s")
            usleep(5_000)
        }
        // Each thread that has stopped has its line; those that the first lines are of may have ended.
        process = stops().last.flatMap { pid_t($0.prefix { $0.isNumber }) }
    }

    deinit { run.kill() }

    /// Lets it continue, and waits for its end.
    func outcome() throws -> ChildProcess.Outcome {
        let limit = ContinuousClock.now + .seconds(60)
        while let process, run.isRunning {
            try #require(ContinuousClock.now < limit, "\(words) has not ended within 60 s")
            kill(process, SIGCONT)
            usleep(5_000)
        }
        return try run.outcome(within: 60)
    }
}
