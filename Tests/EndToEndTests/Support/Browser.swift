import CredentialCore
import DemoProvider
import Foundation

/// A browser and a person in one script: opens the address it is called with, signs in and follows the redirect.
struct Browser {
    /// The variables that make the program start it.
    let environment: [String: String]
    private let home: Home

    /// Writes the script into a home.
    ///
    /// - Parameters:
    ///   - name: the user to sign in.
    ///   - password: the user's password.
    init(in home: Home, user name: String, password: String) throws {
        self.home = home
        let robot = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Servers/oidc-login").path
        let secret = try home.write(password, to: "outside/password")
        let script = try home.write(
            """
            #!/bin/sh
            env -0 > '\(home.path)/outside/browser.environment'
            printf '%s\\n' "$@" > '\(home.path)/outside/browser.arguments'
            OIDC_LOGIN_PASSWORD="$(cat '\(secret)')" exec python3 '\(robot)' "$1" --user '\(name)' --deliver

            """, to: "outside/browser", mode: 0o700)
        environment = ["BROWSER": script]
    }

    /// A browser of a demo user.
    init(in home: Home, _ user: DemoUser = DemoTenant.alice) throws {
        try self.init(in: home, user: user.email, password: user.password.reveal())
    }

    /// The environment that the program gave it.
    var receivedEnvironment: String { home.text(of: "outside/browser.environment") ?? "" }
    /// The address it was called with.
    ///
    /// The program does not wait for its browser: if it ends at once, this waits for the browser, 60 s at most.
    var receivedAddress: String {
        for _ in 0..<6_000 {
            if let text = home.text(of: "outside/browser.arguments"), text.hasSuffix("\n") { return text }
            usleep(10_000)
        }
        return ""
    }
}
