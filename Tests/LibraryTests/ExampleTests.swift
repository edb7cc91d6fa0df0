import CredentialCore
import DemoProvider
import Foundation
import TestSupport
import Testing

/// The example program with a real browser, from an empty home to a second user's sign-out.
@Suite(.needs(.chromium))
struct ExampleTests {
    private static let servers = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Servers").path

    @Test func `three policies, claims, tasks, a second person, sign-outs, and the command takes over`()
        async throws
    {
        let world = try LibraryWorld()
        let (alice, bob) = (LibraryWorld.alice, LibraryWorld.bob)
        let browser = world.path + "/browser"
        let script = """
            #!/bin/sh
            cd '\(world.path)'
            case "$1" in
            *b2c_1_sign_up*) user=carol@example.com password='Carol and 1 password' ;;
            *prompt=login*) user='\(bob.email)' password="\(bob.password.reveal())" ;;
            *) user='\(alice.email)' password="\(alice.password.reveal())" ;;
            esac
            export OIDC_LOGIN_USER="$user" OIDC_LOGIN_PASSWORD="$password"
            exec '\(Self.servers)/browser-sign-in' "$1" >> browser.log 2>&1

            """
        try installProgram(script, at: browser)
        let example = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("example-task-list").path
        let child = ChildProcess(
            example,
            [
                world.base, "sign-in", "claims", "facebook", "add buy milk", "add call Bob", "list", "other",
                "accounts", "list", "add water the plants", "sign-up", "list", "use alice@example.com",
                "delete buy milk", "list", "sign-out", "use bob@example.com", "list", "accounts",
            ],
            environment: world.environment.merging(
                ["BROWSER": browser, "TMPDIR": NSTemporaryDirectory()]
            ) { $1 })
        let outcome = try await offPool { try child.run(seconds: 600) }
        let log = (try? String(contentsOfFile: world.path + "/browser.log", encoding: .utf8)) ?? ""
        #expect(outcome.exitStatus == 0, "\(outcome.standardOutput)\n\(outcome.standardError)\n\(log)")
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        // The claims are one line of JSON, which has times in it.
        #expect(lines.contains { $0.hasPrefix("{") && $0.contains(#""name":"Alice Example""#) })
        #expect(
            lines.filter { !$0.hasPrefix("{") } == [
                "signed in: alice@example.com", "event: account.added",
                "  name: Alice Example, identity provider: this one",
                "signed in: alice@example.com", "event: account.updated",
                "  name: Alice Example, identity provider: facebook.com",
                "- buy milk", "- call Bob", "2 tasks",
                "signed in: bob@example.com", "event: account.added",
                "  name: Bob Example, identity provider: this one",
                "  alice@example.com", "* bob@example.com", "0 tasks",
                "signed in: carol@example.com", "event: account.added",
                "  name: Carol, identity provider: this one", "0 tasks",
                "event: account.updated", "- call Bob", "1 tasks",
                "signed out: alice@example.com", "event: account.removed", "event: account.updated",
                "- water the plants", "1 tasks", "* bob@example.com", "  carol@example.com",
            ], "\(outcome.standardOutput)")

        // The command has the accounts that the program left.
        let token = try await world.command(["token", "--type", "TaskList"])
        #expect(token.exitStatus == 0, "\(token.standardError)")
        let accounts = try await world.command(["accounts"])
        #expect(accounts.standardOutput.contains("bob@example.com"))
        #expect(!accounts.standardOutput.contains("alice@example.com"))
    }
}
