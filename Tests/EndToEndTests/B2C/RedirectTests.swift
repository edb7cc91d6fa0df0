import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The ways back from the browser that Azure AD B2C lets native clients register.
@Suite struct `Redirects of B2C` {
    private static let scheme = "msal\(DemoTenant.clientID)"
    private static let nativeClient = "https://exampleb2c.b2clogin.com/oauth2/nativeclient"

    @Test func `A custom scheme comes back through an installed handler, which finishes the sign-in`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["redirect_uri": .string(Self.scheme + "://auth")])
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let template = try String(
            contentsOf: root.appendingPathComponent("docs/templates/credmgr-redirect.desktop"), encoding: .utf8)
        // As the page on Azure AD B2C says: the client id filled in.
        let filled = template.split(separator: "CLIENT_ID").joined(separator: DemoTenant.clientID)
        let file = try home.write(filled, to: "credmgr-redirect.desktop", mode: 0o644)
        let check = try ChildProcess("desktop-file-validate", [file]).run()
        #expect(check.exitStatus == 0 && check.standardOutput.isEmpty, "\(check.standardOutput)")
        #expect(filled.contains("MimeType=x-scheme-handler/\(Self.scheme);\n"))

        let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        #expect(redirect.hasPrefix(Self.scheme + "://auth?"))
        // What a desktop makes of Exec: %u is one argument, the address.
        let exec = try #require(filled.split(separator: "\n").first { $0.hasPrefix("Exec=") }).dropFirst(5)
        var words = exec.split(separator: " ").map { $0 == "%u" ? redirect : String($0) }
        #expect(words.removeFirst() == "credmgr")
        #expect(try home.run(words).line.hasSuffix("\talice@example.com"))
    }

    @Test(arguments: ["urn:ietf:wg:oauth:2.0:oob", nativeClient])
    func `An address longer than a terminal's line is pasted`(redirectURI: String) throws {
        let home = try Home(), tenant = try DemoTenant { $0.codeSize = 9_000 }
        try tenant.definePolicies(at: home, ["redirect_uri": .string(redirectURI)])
        // A person at a terminal of their own: reads the address, signs in, pastes what the browser ended at.
        let script = try home.write(
            """
            import os, pty, re, subprocess, sys
            program, robot = sys.argv[1:3]
            child, terminal = pty.fork()
            if child == 0:
                os.execv(program, [program, "login", "--type", "Tasks", "--no-browser"])
            screen = b""
            while b"or the code: " not in screen:
                screen += os.read(terminal, 65536)
            address = re.search(rb"http://\\S+", screen).group().decode()
            answer = subprocess.run([sys.executable, robot, address, "--user", "alice@example.com"], text=True,
                                    stdout=subprocess.PIPE, check=True).stdout.strip()
            rest = (answer + "\\n").encode()
            assert len(rest) > 9000
            shown = b""
            while True:
                if rest:
                    rest = rest[os.write(terminal, rest[:512]):]
                try:
                    piece = os.read(terminal, 65536)
                except OSError:
                    break
                if not piece:
                    break
                shown += piece
            print(shown.decode().splitlines()[-1])
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

            """, to: "person.py")
        let robot = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Servers/oidc-login").path
        let outcome = try ChildProcess(
            "python3", [script, Home.program, robot],
            environment: home.environment.merging(["OIDC_LOGIN_PASSWORD": DemoTenant.alice.password.reveal()]) {
                $1
            }
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("\talice@example.com"))
        #expect(tenant.provider.counters.tokenRequests == 1)
    }

    @Test func `localhost is listened to on both of its addresses`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
        // The browser knocks on ::1 first, as browsers do, with a state that is not ours, and then signs in.
        let browser = try Browser(in: home)
        let knocking = try home.write(
            """
            #!/bin/sh
            port=$(echo "$1" | sed 's/.*redirect_uri=http%3A%2F%2Flocalhost%3A\\([0-9]*\\).*/\\1/')
            for address in '[::1]' 127.0.0.1; do
                curl -s -o /dev/null -w '%{http_code} ' -H "Host: localhost:$port" "http://$address:$port/?state=x&code=y"
            done > '\(home.path)/answers'
            exec '\(browser.environment["BROWSER"] ?? "")' "$1"

            """, to: "knocking", mode: 0o700)
        try home.run(["login", "--type", "Tasks"], environment: ["BROWSER": knocking])
        // A machine without IPv6 has no ::1 to knock on.
        #expect(["400 400 ", "000 400 "].contains(home.text(of: "answers")))
    }
}
