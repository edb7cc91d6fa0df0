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

    /// Desktops that open addresses without a screen: GLib's own way, and `xdg-open` as in GNOME.
    static let openers = [["gio", "open"], ["env", "XDG_CURRENT_DESKTOP=GNOME", "xdg-open"]]

    @Test(arguments: openers)
    func `A custom scheme comes back through an installed handler, which finishes the sign-in`(
        opener: [String]
    ) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["redirect_uri": .string(Self.scheme + "://auth")])
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = "data/applications/credmgr-redirect.desktop"
        try home.write(
            String(
                contentsOf: root.appendingPathComponent("docs/templates/credmgr-redirect.desktop"), encoding: .utf8),
            to: file, mode: 0o644)
        let check = try ChildProcess("desktop-file-validate", [home.path + "/" + file]).run()
        #expect(check.exitStatus == 0 && check.standardOutput.isEmpty, "\(check.standardOutput)")

        // The handler is a process of the desktop; the pipe tells when it has ended.
        #expect(mkfifo(home.path + "/done", 0o600) == 0)
        try home.write(
            """
            #!/bin/sh
            # The streams are those of whoever opened the address, who waits for their end.
            exec > '\(home.path)/result' 2>&1
            printf '%s\\n' "$@" > '\(home.path)/arguments'
            '\(Home.program)' "$@" 2> '\(home.path)/notices'
            echo $? > '\(home.path)/done'

            """, to: "bin/credmgr", mode: 0o700)
        let desktop = home.environment.merging(["PATH": home.path + "/bin:/usr/bin:/bin"]) { $1 }
        func atDesktop(_ words: [String]) throws -> ChildProcess.Outcome {
            try ChildProcess(words[0], Array(words.dropFirst()), environment: desktop).run()
        }
        // The one step that the page on Azure AD B2C tells.
        let handler = "x-scheme-handler/" + Self.scheme
        #expect(try atDesktop(["xdg-mime", "default", "credmgr-redirect.desktop", handler]).exitStatus == 0)
        #expect(
            try atDesktop(["xdg-mime", "query", "default", handler]).standardOutput
                == "credmgr-redirect.desktop\n")

        let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        #expect(redirect.hasPrefix(Self.scheme + "://auth?"))
        let opened = try atDesktop(opener + [redirect])
        #expect(opened.exitStatus == 0, "\(opened.standardError)")
        #expect(try atDesktop(["cat", home.path + "/done"]).standardOutput == "0\n")
        #expect(home.text(of: "arguments") == "login\n--complete\n\(redirect)\n")
        #expect(home.text(of: "result")?.hasSuffix("\talice@example.com\n") == true)
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))
    }

    @Test(arguments: ["urn:ietf:wg:oauth:2.0:oob", nativeClient])
    func `An address longer than a terminal's line is pasted`(redirectURI: String) throws {
        let home = try Home(), tenant = try DemoTenant { $0.codeSize = 9_000 }
        try tenant.definePolicies(at: home, ["redirect_uri": .string(redirectURI)])
        // A user at a terminal: reads the address, signs in, pastes the address that the browser ended at.
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
