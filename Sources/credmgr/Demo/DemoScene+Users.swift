import CredentialCore
import DemoProvider

/// Two users, their lists, and switching between them.
extension DemoScene {
    private static let carol = DemoSettings.carol
    private static let bob = DemoUser.standard[1]

    static let signUp = DemoScene(title: "Carol signs up as a new user, and her list is empty") {
        (stage, _) throws(CredentialError) in
        let policy = ["--policy", "b2c_1_sign_up"]
        try stage.signIn(carol, more: policy, name: carol.name)
        try stage.list(more: policy)
    }

    static let firstUser = DemoScene(
        title: "She signs in with the other policy too: one account, tokens for each; she adds two tasks"
    ) { (stage, _) throws(CredentialError) in
        try stage.signIn(carol)
        try stage.run(["accounts"])
        try stage.request("POST", "/api/tasks", more: ["--form", "Text=buy milk"])
        try stage.request("POST", "/tasks", more: ["--json", "{\"task\":\"call Bob\"}"])
        try stage.list()
        try stage.showToken(["token", "--type", DemoSettings.typeName])
    }

    static let secondUser = DemoScene(
        title: "As in the app: Carol signs out, Bob signs in, and his list is his own"
    ) {
        (stage, _) throws(CredentialError) in
        try stage.run(["logout", "--account", carol.email])
        try stage.signIn(bob)
        try stage.list()
        try stage.request("POST", "/api/tasks", more: ["--form", "Text=water the plants"])
    }

    static let chooseAccount = DemoScene(
        title: "Carol signs in again: Bob stays the default, and switching now needs no sign-in"
    ) { (stage, _) throws(CredentialError) in
        try stage.signIn(carol)
        try stage.run(["which", "--type", DemoSettings.typeName])
        try stage.list()
        try stage.run(["use", carol.email, "--type", DemoSettings.typeName])
        try stage.list()
    }

    static let deleteTask = DemoScene(title: "Carol deletes a task") { (stage, _) throws(CredentialError) in
        try stage.request("DELETE", "/tasks", more: ["--json", "{\"task\":\"buy milk\"}"])
        try stage.list()
    }

    static let forgotten = DemoScene(
        title: "Bob has forgotten his password: the reset policy runs, and brings him back to the sign-in"
    ) { (stage, _) throws(CredentialError) in
        var renewed = bob
        renewed.password = Secret("Bob's new password")
        let page = try stage.begin(DemoSettings.otherTool)
        let reset = try stage.complete(try stage.visit(page, bob, .forgotPassword), expecting: 4)
        let again = try stage.complete(try stage.visit(reset, renewed), expecting: 4)
        try stage.complete(try stage.visit(again, renewed))
    }
}
