import DemoProvider
import Foundation
import TestSupport
import Testing

/// The program of `Tests/Outside`, which has the library alone, with a real browser, and the command after it.
///
/// Here it is compiled against the modules that are built already; `scripts/check-library` has SwiftPM build it as
/// a package of its own, and names the result in `CREDMGR_OUTSIDE_PROGRAM`.
@Suite(
    .needs(.chromium))
struct OutsideProgramTests {
    private static let robot = OutsideCompiler.checkout + "/Tests/Servers/browser-sign-in"

    /// A browser that signs in the user that the page expects.
    private func browser(in world: LibraryWorld) throws -> String {
        let path = world.path + "/browser", (alice, bob) = (LibraryWorld.alice, LibraryWorld.bob)
        try """
        #!/bin/sh
        cd '\(world.path)'
        case "$1" in
        *login_hint=bob*) OIDC_LOGIN_USER='\(bob.email)' OIDC_LOGIN_PASSWORD="\(bob.password.reveal())" ;;
        *) OIDC_LOGIN_USER='\(alice.email)' OIDC_LOGIN_PASSWORD="\(alice.password.reveal())" ;;
        esac
        export OIDC_LOGIN_USER OIDC_LOGIN_PASSWORD
        exec '\(Self.robot)' "$1" >> browser.log 2>&1

        """.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    private func program(_ compiler: OutsideCompiler) async throws -> String {
        if let built = ProcessInfo.processInfo.environment["CREDMGR_OUTSIDE_PROGRAM"] { return built }
        let source = OutsideCompiler.checkout + "/Tests/Outside/Sources/outside/main.swift"
        return try await compiler.link(["main.swift": String(contentsOfFile: source, encoding: .utf8)])
    }

    /// The output of the program, in each store of its secrets.
    private static let expected = [
        "in bob@example.com", "change account.added", "revoked 200", "lost: sign_in_required",
        "change token.lost, with a reason", "change account.updated",
        "in alice@example.com", "change account.added",
        "account bob@example.com", "account alice@example.com", "default bob@example.com",
        "alice@example.com has 200, milk true, call false", "claims Alice Example",
        "bob@example.com has 200, milk false, call true", "claims Bob Example",
        "change account.updated", "change account.updated", "change account.updated", "change token.refreshed",
        "closed: internal_fault", "change login.failed, with a reason",
        "cancelled token: fine", "cancelled send: fine", "cancelled send to a file: fine", "cancelled signed: fine",
        "cancelled signIn: fine", "cancelled prepareAuthorization: fine", "cancelled endSessionURL: fine",
        "cancelled conformance: fine", "cancelled changes: fine",
        #"meanwhile ["token.refreshed"]"#, "label still mine",
        "cancelled signOut: fine", "change account.removed", #"left ["bob@example.com"]"#,
        "in alice@example.com, another id", "change account.added",
    ]

    @Test(arguments: [false, true])
    func `two people, the API, every change, cancelled at every await; then the command takes over`(
        hasKeyring: Bool
    ) async throws {
        let world = try LibraryWorld(), compiler = try OutsideCompiler()
        let keyring = try hasKeyring && Need.keyring.isMet() ? PrivateKeyring() : nil
        defer { withExtendedLifetime((compiler.folder, keyring)) {} }
        var environment = world.environment
        if let keyring { environment["DBUS_SESSION_BUS_ADDRESS"] = keyring.busAddress }
        environment["TMPDIR"] = NSTemporaryDirectory()
        environment["BROWSER"] = try browser(in: world)

        let child = ChildProcess(
            try await program(compiler), [world.base, BuiltProgram.path], environment: environment)
        let outcome = try await offPool { try child.run(seconds: 600) }
        // A browser has its last word when the program has ended.
        let told = " is signed in to Outside"
        let waiting = ChildProcess(
            "/bin/sh", ["-c", "until [ \"$(grep -c '\(told)' '\(world.path)/browser.log')\" -ge 4 ]; do :; done"],
            environment: environment)
        _ = try await offPool { try waiting.run(seconds: 120) }
        let log = (try? String(contentsOfFile: world.path + "/browser.log", encoding: .utf8)) ?? ""
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        #expect(lines == Self.expected, "\(outcome.standardError)\n\(log)")
        #expect(outcome.exitStatus == 0)
        // In the browser they were told so, at an address without a code.
        #expect(log.components(separatedBy: told).count == 5, "\(log)")
        #expect(!log.contains("code="))

        // The command has both accounts, and the place of their secrets.
        func command(_ words: String...) async throws -> ChildProcess.Outcome {
            let child = ChildProcess(BuiltProgram.path, words, environment: environment)
            return try await offPool { try child.run(seconds: 120) }
        }
        let accounts = try await command("accounts", "--json").standardOutput
        #expect(
            accounts.components(separatedBy: "\"store\": \"\(keyring == nil ? "file" : "secret-service")\"").count
                == 3,
            "\(accounts)")
        for user in [LibraryWorld.alice, LibraryWorld.bob] {
            let token = try await command("token", "--type", "Outside", "--account", user.email)
            #expect(token.exitStatus == 0 && token.standardOutput.hasPrefix("ey"), "\(token.standardError)")
            let refreshed = try await command(
                "token", "--type", "Outside", "--account", user.email, "--force-refresh")
            #expect(refreshed.exitStatus == 0, "\(refreshed.standardError)")
            #expect(refreshed.standardOutput != token.standardOutput)
            let reply = try await command("request", "GET", "/tasks", "--type", "Outside", "--account", user.email)
            #expect(
                reply.standardOutput.contains(user.email == LibraryWorld.alice.email ? "milk" : "call"),
                "\(reply.standardOutput)\(reply.standardError)")
        }
        let gone = try await command("logout", "--all", "--yes")
        #expect(gone.exitStatus == 0, "\(gone.standardError)")
    }
}
