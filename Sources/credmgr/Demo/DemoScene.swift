import CredentialCore
import DemoProvider

/// A scene of the walkthrough.
struct DemoScene: Sendable {
    /// The event of the scene, in one line.
    let title: LocalizedMessage
    /// Plays it.
    let play: @Sendable (borrowing DemoStage, DemoProvider) throws(CredentialError) -> Void

    /// The whole walkthrough, without a person.
    static let walkthrough: [DemoScene] = [
        .importSettings, .nobody, .signUp, .firstUser, .secondUser, .chooseAccount, .deleteTask, .secondTool,
        .refusals, .noList, .cancelled, .twice, .silentRefresh, .lostGrant, .forgotten, .signOut,
    ]
    /// The walkthrough for a person at a browser.
    static let inBrowser: [DemoScene] = [.importSettings, .browserSignIn, .signOut]

    private static let importSettings = DemoScene(title: "The app's settings.plist becomes an account type") {
        (stage, _) throws(CredentialError) in
        try stage.run(["types", "import", "settings.plist"])
        try stage.run(["types"])
    }

    private static let secondTool = DemoScene(
        title: "Another tool of the same keychain group gets its token without a sign-in"
    ) { (stage, _) throws(CredentialError) in
        try stage.run([
            "types", "add", DemoSettings.otherTool, "--adapter", "azure-b2c", "--authority",
            "\(stage.base)/exampleb2c.onmicrosoft.com/", "--policy", "sign-in=b2c_1_sign_in", "--default-policy",
            "sign-in", "--policy", "reset=b2c_1_reset", "--password-reset-policy", "reset", "--client-id",
            DemoSettings.clientID, "--redirect-uri", "urn:ietf:wg:oauth:2.0:oob", "--scope",
            "openid offline_access https://exampleb2c.onmicrosoft.com/tasks/read", "--keychain-group",
            DemoSettings.group,
        ])
        try stage.showToken(["token", "--type", DemoSettings.otherTool, "--account", DemoSettings.carol.email])
    }

    private static let signOut = DemoScene(title: "Everything is forgotten") { (stage, _) throws(CredentialError) in
        try stage.run(["logout", "--all", "--yes"])
        try stage.run(["accounts"])
        try stage.end("That was credmgr. credmgr --help shows the commands; docs/ has the rest.")
    }

    private static let browserSignIn = DemoScene(
        title: "Sign in through your browser: alice@example.com, password: alice's password"
    ) { (stage, _) throws(CredentialError) in
        try stage.run([
            "types", "add", "BrowserTool", "--adapter", "azure-b2c", "--authority",
            "\(stage.base)/exampleb2c.onmicrosoft.com/", "--policy", "sign-in=b2c_1_sign_in", "--default-policy",
            "sign-in", "--client-id", DemoSettings.clientID, "--api-base", stage.base,
        ])
        try stage.signInByBrowser("BrowserTool")
        try stage.run(["request", "POST", "/api/tasks", "--type", "BrowserTool", "--form", "Text=buy milk"])
        try stage.run(["request", "GET", "/api/tasks", "--type", "BrowserTool"])
    }
}
