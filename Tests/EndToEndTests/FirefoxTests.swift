import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// A sign-in in Firefox, at the demo provider's own page.
@Suite("Firefox", .needs(.firefox))
struct FirefoxTests {
    private static let root = String(#filePath.split(separator: "/Tests/", omittingEmptySubsequences: false)[0])
    private static let robot = root + "/Tests/Servers/firefox-sign-in"

    @Test(.timeLimit(.minutes(5)))
    func `Firefox signs in through the loopback, and its page is plain and holds no secret`() throws {
        let home = try Home(), tenant = try DemoTenant()
        defer { tenant.provider.stop() }
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
        let page = try signIn(at: home)
        let lines = page.split(separator: "\n").map(String.init)
        #expect(lines.first == "credmgr: alice@example.com is signed in to Tasks", "\(page)")
        // The code has gone from the address bar too.
        #expect(lines.last?.hasPrefix("http://localhost:") == true && !page.contains("?"), "\(page)")
        #expect(!page.contains("code=") && !page.contains("state=") && !page.contains("eyJ"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `With the seeds' out-of-band redirect Firefox comes back through the loopback`() throws {
        let home = try Home(), tenant = try DemoTenant()
        defer { tenant.provider.stop() }
        // As the seeds' file has it, out of band.
        try tenant.define(at: home)
        let page = try signIn(at: home, type: DemoTenant.typeName)
        #expect(page.hasPrefix("credmgr: alice@example.com is signed in to \(DemoTenant.typeName)\n"), "\(page)")
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: ["msal\(DemoTenant.clientID)://auth", "urn:ietf:wg:oauth:2.0:oob"])
    func `Firefox hands the redirect to the installed handler, which finishes the sign-in`(redirectURI: String)
        throws
    {
        let home = try Home(), tenant = try DemoTenant()
        defer { tenant.provider.stop() }
        try tenant.definePolicies(at: home, ["redirect_uri": .string(redirectURI)])
        try home.write(
            String(contentsOfFile: Self.root + "/docs/templates/credmgr-redirect.desktop", encoding: .utf8),
            to: "data/applications/credmgr-redirect.desktop", mode: 0o644)
        // A browser shows the handler's outcome; here it saves the page.
        let viewer = try home.write(
            "#!/bin/sh\nexec cp \"$1\" '\(home.path)/outcome.html'\n", to: "outside/viewer", mode: 0o700)
        try home.write(
            """
            #!/bin/sh
            printf '%s\\n' "$CREDMGR_HANDLER" "$@" > '\(home.path)/arguments'
            BROWSER='\(viewer)' '\(Home.program)' "$@" > '\(home.path)/result' 2> '\(home.path)/notices'
            echo $? > '\(home.path)/status'
            mv '\(home.path)/status' '\(home.path)/done'

            """, to: "bin/credmgr", mode: 0o700)
        let desktop = home.environment.merging([
            "PATH": home.path + "/bin:/usr/bin:/bin", "OIDC_LOGIN_USER": DemoTenant.alice.email,
            "OIDC_LOGIN_PASSWORD": DemoTenant.alice.password.reveal(),
        ]) { $1 }
        let scheme = String(redirectURI.prefix { $0 != ":" })
        // The one step that the page on Azure AD B2C tells.
        let told = try ChildProcess(
            "xdg-mime", ["default", "credmgr-redirect.desktop", "x-scheme-handler/" + scheme], environment: desktop
        ).run()
        try #require(told.exitStatus == 0)

        let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
        let firefox = try ChildProcess(
            Self.robot, ["--scheme", scheme, "--until", home.path + "/done", url], environment: desktop
        ).run(seconds: 240)
        #expect(firefox.exitStatus == 0, "\(firefox.standardOutput)\(firefox.standardError)")
        #expect(home.text(of: "done") == "0\n", "\(home.text(of: "notices") ?? "")")
        #expect(home.text(of: "arguments")?.hasPrefix("1\nlogin\n--complete\n" + redirectURI) == true)
        #expect(home.text(of: "result")?.hasSuffix("\talice@example.com\n") == true)
        #expect(home.text(of: "outcome.html")?.contains("alice@example.com is signed in to Tasks") == true)
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))
    }

    /// Signs in, and gives the page that Firefox shows at the end: its text and, in the last line, its address.
    private func signIn(at home: Home, type: String = "Tasks") throws -> String {
        // The pipe holds the page until it is read here: a person's browser goes on when the program has ended.
        try #require(mkfifo(home.path + "/page", 0o600) == 0)
        let script = try home.write(
            """
            #!/bin/sh
            page=$(OIDC_LOGIN_USER='\(DemoTenant.alice.email)' \\
                OIDC_LOGIN_PASSWORD="\(DemoTenant.alice.password.reveal())" '\(Self.robot)' "$1" 2>&1)
            printf '%s\\n' "$page" > '\(home.path)/page'

            """, to: "outside/firefox", mode: 0o700)
        let reader = Background {
            try ChildProcess("cat", [home.path + "/page"], environment: home.environment).run(seconds: 240)
        }
        let done = try home.run(["login", "--type", type], environment: ["BROWSER": script])
        #expect(done.standardOutput.hasSuffix("\talice@example.com\n"))
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))
        return try reader.value().standardOutput
    }
}
