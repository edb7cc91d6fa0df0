import CredentialCore
import DemoProvider

/// The scenes of the walkthrough, in order.
enum DemoScene: CaseIterable {
    case importSettings, firstUser, secondUser, chooseAccount, secondTool, deleteTask, silentRefresh, lostGrant,
        signOut
    case browserSignIn

    /// The whole walkthrough, without a person.
    static let walkthrough: [DemoScene] = [
        .importSettings, .firstUser, .secondUser, .chooseAccount, .secondTool, .deleteTask, .silentRefresh,
        .lostGrant,
        .signOut,
    ]
    /// The walkthrough for a person at a browser.
    static let inBrowser: [DemoScene] = [.importSettings, .browserSignIn, .signOut]

    private static let type = DemoSettings.typeName

    /// Plays the scene.
    func play(_ stage: inout DemoStage, _ provider: DemoProvider) throws(CredentialError) {
        switch self {
        case .importSettings: try importSettings(&stage)
        case .firstUser: try firstUser(&stage)
        case .secondUser: try secondUser(&stage)
        case .chooseAccount: try chooseAccount(&stage)
        case .secondTool: try secondTool(&stage)
        case .deleteTask: try deleteTask(&stage)
        case .silentRefresh: try silentRefresh(&stage, provider)
        case .lostGrant: try lostGrant(&stage, provider)
        case .signOut: try signOut(&stage)
        case .browserSignIn: try browserSignIn(&stage)
        }
    }

    private func importSettings(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("The app's settings.plist becomes an account type")
        try stage.run(["types", "import", "settings.plist"])
        try stage.run(["types"])
    }

    private func firstUser(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("Alice signs in, and adds two tasks")
        try stage.signIn(DemoUser.standard[0])
        try stage.run(["request", "GET", "/api/tasks", "--type", Self.type])
        try stage.run(["request", "POST", "/api/tasks", "--type", Self.type, "--form", "Text=buy milk"])
        try stage.run(["request", "POST", "/api/tasks", "--type", Self.type, "--form", "Text=call Bob"])
        try stage.run(["request", "GET", "/api/tasks", "--type", Self.type])
        try stage.run(["token", "--type", Self.type]) { String($0.prefix(24)) + "…\n" }
    }

    private func secondUser(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("Bob signs in beside her; his list is his own")
        try stage.signIn(DemoUser.standard[1])
        try stage.run(["request", "GET", "/api/tasks", "--type", Self.type, "--account", "bob@example.com"])
        try stage.run([
            "request", "POST", "/api/tasks", "--type", Self.type, "--account", "bob@example.com", "--form",
            "Text=water the plants",
        ])
        try stage.run(["accounts"])
    }

    private func chooseAccount(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("Two accounts and no default: credmgr does not guess")
        try stage.run(["token", "--type", Self.type], expecting: 3)
        try stage.run(["use", "alice@example.com", "--type", Self.type])
        try stage.run(["request", "GET", "/api/tasks", "--type", Self.type])
    }

    private func secondTool(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("Another tool of the same keychain group gets its token without a sign-in")
        try stage.run([
            "types", "add", "ReportTool", "--adapter", "azure-b2c", "--authority",
            "\(stage.base)/exampleb2c.onmicrosoft.com/", "--policy", "sign-in=b2c_1_sign_in", "--default-policy",
            "sign-in", "--client-id", DemoSettings.clientID, "--scope",
            "openid offline_access https://exampleb2c.onmicrosoft.com/tasks/read", "--keychain-group",
            "com.microsoft.azureactivedirectory.samples.graph.QuickStart",
        ])
        try stage.run(["token", "--type", "ReportTool", "--account", "alice@example.com"]) {
            String($0.prefix(24)) + "…\n"
        }
    }

    private func deleteTask(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("Alice deletes a task")
        try stage.run(["request", "DELETE", "/tasks", "--type", Self.type, "--json", "{\"task\":\"buy milk\"}"])
        try stage.run(["request", "GET", "/api/tasks", "--type", Self.type])
    }

    private func silentRefresh(_ stage: inout DemoStage, _ provider: DemoProvider) throws(CredentialError) {
        try stage.title("The token ends: it is renewed silently, once")
        let before = provider.counters.refreshes
        provider.expireTokens()
        try stage.run(["request", "GET", "/api/tasks", "--type", Self.type])
        try stage.say("   (the provider has seen \(provider.counters.refreshes - before) refresh)")
    }

    private func lostGrant(_ stage: inout DemoStage, _ provider: DemoProvider) throws(CredentialError) {
        try stage.title("The provider takes the grant back: a person has to sign in, and a script can tell")
        provider.revokeRefreshTokens()
        try stage.run(["token", "--type", Self.type, "--force-refresh"], expecting: 4)
        try stage.run(["accounts"])
        try stage.signIn(DemoUser.standard[0])
        try stage.run(["token", "--type", Self.type]) { String($0.prefix(24)) + "…\n" }
    }

    private func signOut(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("Everything is forgotten")
        try stage.run(["logout", "--all", "--yes"])
        try stage.run(["accounts"])
        try stage.say("\nThat was credmgr. credmgr --help shows the commands; docs/ has the rest.")
    }

    private func browserSignIn(_ stage: inout DemoStage) throws(CredentialError) {
        try stage.title("Sign in through your browser: alice@example.com, password: alice's password")
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
