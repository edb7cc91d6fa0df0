import CredentialCore
import DemoProvider

/// Two users, their lists, and switching between them.
extension DemoScene {
    private static let carol = DemoSettings.carol
    private static let bob = DemoUser.standard[1]

    static let signUp = DemoScene(title: "Carol signs up; nobody knew her before, and her list is empty") {
        (stage, _) throws(CredentialError) in
        let policy = ["--policy", "b2c_1_sign_up"]
        try stage.signIn(carol, more: policy, name: carol.name)
        try stage.request("GET", "/api/tasks", more: policy)
    }

    static let firstUser = DemoScene(
        title: "She signs in with the other policy too: one account, tokens for each; she adds two tasks"
    ) { (stage, _) throws(CredentialError) in
        try stage.signIn(carol)
        try stage.run(["accounts"])
        try stage.request("POST", "/api/tasks", more: ["--form", "Text=buy milk"])
        try stage.request("POST", "/tasks", more: ["--json", "{\"task\":\"call Bob\"}"])
        try stage.request("GET", "/api/tasks")
        try stage.showToken(["token", "--type", DemoSettings.typeName])
    }

    static let secondUser = DemoScene(title: "Bob signs in beside her, where the app had to sign her out first") {
        (stage, _) throws(CredentialError) in
        let account = ["--account", bob.email]
        try stage.signIn(bob)
        try stage.request("GET", "/api/tasks", more: account)
        try stage.request("POST", "/api/tasks", more: account + ["--form", "Text=water the plants"])
        try stage.run(["accounts"])
    }

    static let chooseAccount = DemoScene(
        title: "Two accounts and no default: credmgr does not guess; back to Carol without a new sign-in"
    ) { (stage, _) throws(CredentialError) in
        try stage.run(["token", "--type", DemoSettings.typeName], expecting: 3)
        try stage.run(["use", carol.email, "--type", DemoSettings.typeName])
        try stage.request("GET", "/api/tasks")
    }

    static let deleteTask = DemoScene(title: "Carol deletes a task") { (stage, _) throws(CredentialError) in
        try stage.request("DELETE", "/tasks", more: ["--json", "{\"task\":\"buy milk\"}"])
        try stage.request("GET", "/api/tasks")
    }
}
