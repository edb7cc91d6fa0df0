import CredentialCore
import DemoProvider

/// The failures, and the way in which the apps handled them.
extension DemoScene {
    static let nobody = DemoScene(title: "No user has signed in: the app crashed, a script gets an exit code") {
        (stage, _) throws(CredentialError) in
        try stage.request("GET", "/api/tasks", expecting: 3)
    }

    static let refusals = DemoScene(title: "The API fails: the app took any response for its list") {
        (stage, provider) throws(CredentialError) in
        try stage.request("GET", "/tasks/somebody-else", expecting: 8)
        provider.change { $0.apiStatus = 503 }
        try stage.request("GET", "/api/tasks", expecting: 8)
        provider.change { $0.apiStatus = 0 }
        try stage.say("And a token goes to its own API only:")
        try stage.request("GET", "https://api.example.com/tasks", expecting: 7)
    }

    static let noList = DemoScene(title: "The API returns no list: credmgr passes the response on unchanged") {
        (stage, provider) throws(CredentialError) in
        provider.change { $0.apiReply = "{\"message\":\"come back tomorrow\"}" }
        try stage.list()
        provider.change { $0.apiReply = "" }
    }

    static let cancelled = DemoScene(title: "Carol begins a sign-in and cancels it: nothing changes") {
        (stage, _) throws(CredentialError) in
        try stage.signIn(DemoSettings.carol, act: .cancel, expecting: 7)
        try stage.list()
    }

    static let twice = DemoScene(
        title: "The browser's response comes twice: the app used both, credmgr uses one"
    ) {
        (stage, provider) throws(CredentialError) in
        let codes = { provider.counters.grants["authorization_code"] ?? 0 }
        let before = codes()
        let redirect = try stage.visit(try stage.begin(DemoSettings.typeName), DemoSettings.carol)
        try stage.complete(redirect)
        try stage.complete(redirect, expecting: 7)
        try stage.say("(codes that the provider has seen: \(codes() - before))")
    }

    static let silentRefresh = DemoScene(title: "The token expires: credmgr refreshes it once, without a prompt") {
        (stage, provider) throws(CredentialError) in
        let before = provider.counters.refreshes
        provider.expireTokens()
        try stage.list()
        try stage.say("(refreshes that the provider has seen: \(provider.counters.refreshes - before))")
    }

    static let lostGrant = DemoScene(
        title: "The provider revokes its grants: Carol must sign in again, and a script gets an exit code"
    ) { (stage, provider) throws(CredentialError) in
        provider.expireTokens()
        provider.revokeRefreshTokens()
        try stage.request("GET", "/api/tasks", expecting: 4)
        try stage.run(["accounts"])
        try stage.signIn(DemoSettings.carol)
        try stage.list()
    }
}
