import Foundation
import TestSupport
import Testing

/// A sign-in through the loopback redirect in a real browser, at the demo provider's own page.
@Suite(
    "A real browser",
    .needs(.chromium))
struct ChromiumTests {
    @Test(.timeLimit(.minutes(2)), arguments: ["", "--dark"])
    func `Chromium signs in, and the page it ends at is plain and holds no secret`(scheme: String) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(
            at: home, settings: AppSettings(base: tenant.base, redirectURI: "http://localhost/auth/openid/return"))
        let robot = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Servers/browser-sign-in").path
        let script = try home.write(
            """
            #!/bin/sh
            # A person's browser goes on when the program has ended.
            cd '\(home.path)'
            OIDC_LOGIN_USER='\(DemoTenant.alice.email)' OIDC_LOGIN_PASSWORD="\(DemoTenant.alice.password.reveal())" \\
                '\(robot)' \(scheme) --screenshot page.png "$1" > page.new 2>&1
            mv page.new page.txt

            """, to: "outside/chromium", mode: 0o700)
        let done = try home.run(
            ["login", "--type", DemoTenant.typeName], environment: ["BROWSER": script])
        #expect(done.standardOutput.hasSuffix("\talice@example.com\n"))
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))

        // The browser ends by itself; its last word is the page's text and its address.
        let waiting = try ChildProcess(
            "/bin/sh", ["-c", "until [ -e '\(home.path)/page.txt' ]; do :; done"], environment: home.environment
        ).run(seconds: 60)
        #expect(waiting.exitStatus == 0)
        let page = try #require(home.text(of: "page.txt"))
        let lines = page.split(separator: "\n").map(String.init)
        #expect(
            lines.first?.hasPrefix("credmgr: ") == true && lines.first?.contains(" is signed in to ") == true,
            "\(page)")
        // The code has gone from the address bar too.
        #expect(lines.last?.hasPrefix("http://localhost:") == true)
        #expect(lines.last?.hasSuffix("/auth/openid/return") == true)
        #expect(!page.contains("code=") && !page.contains("state=") && !page.contains("eyJ"))
        #expect(
            (home.text(of: "page.png") ?? "").isEmpty == false
                || FileManager.default.fileExists(atPath: home.path + "/page.png"))
    }
}
