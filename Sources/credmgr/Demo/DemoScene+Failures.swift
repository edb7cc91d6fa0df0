import CredentialCore
import DemoProvider

/// What goes wrong, and what the apps made of it.
extension DemoScene {
    static let nobody = DemoScene(title: "Nobody has signed in: the app crashed here, a script can tell") {
        (stage, _) throws(CredentialError) in
        try stage.request("GET", "/api/tasks", expecting: 3)
    }

    static let refusals = DemoScene(title: "The API fails: the app took any answer for its list") {
        (stage, provider) throws(CredentialError) in
        try stage.request("GET", "/tasks/somebody-else", expecting: 8)
        provider.change { $0.apiStatus = 503 }
        try stage.request("GET", "/api/tasks", expecting: 8)
        provider.change { $0.apiStatus = 0 }
        try stage.say("   And a token goes to its own API only:")
        try stage.request("GET", "https://api.example.com/tasks", expecting: 7)
    }

    static let cancelled = DemoScene(title: "Carol begins a sign-in and cancels it: nothing changes") {
        (stage, _) throws(CredentialError) in
        try stage.signIn(DemoSettings.carol, act: .cancel, expecting: 7)
        try stage.request("GET", "/api/tasks")
    }

    static let silentRefresh = DemoScene(title: "The token ends: it is renewed silently, once") {
        (stage, provider) throws(CredentialError) in
        let before = provider.counters.refreshes
        provider.expireTokens()
        try stage.request("GET", "/api/tasks")
        try stage.say("   (the provider has seen \(provider.counters.refreshes - before) refresh)")
    }

    static let lostGrant = DemoScene(
        title: "The provider takes Bob's grant back: he has to sign in again, and a script can tell"
    ) { (stage, provider) throws(CredentialError) in
        let bob = DemoUser.standard[1]
        let token = ["token", "--type", DemoSettings.typeName, "--account", bob.email]
        provider.revokeRefreshTokens()
        try stage.run(token + ["--force-refresh"], expecting: 4)
        try stage.run(["accounts"])
        try stage.signIn(bob)
        try stage.showToken(token)
    }
}
