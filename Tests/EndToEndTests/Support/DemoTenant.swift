import CredentialCore
import CryptoSupport
import DemoProvider
import Platform
import TestSupport
import Testing

/// A demo provider in the test's own process, and people who sign in there.
final class DemoTenant: Sendable {
    /// The provider, for its switches and counters.
    let provider: DemoProvider
    /// Its address, `http://localhost:PORT`.
    let base: String

    /// The name that the seeds' file gives its account type; three c's.
    static let typeName = "B2C_Acccount"
    /// The keychain group of the seeds' file.
    static let group = "com.microsoft.azureactivedirectory.samples.graph.QuickStart"
    /// The public client of the seeds.
    static let clientID = "580e250c-8f26-49d0-bee8-1c078add1609"
    /// The client with a secret.
    static let confidentialID = "c0ffee00-5b1d-4e55-8e7e-0d1e2f3a4b5c"
    /// The path of the tenant.
    static let tenant = "exampleb2c.onmicrosoft.com"
    /// Alice and Bob.
    static let alice = DemoUser.standard[0], bob = DemoUser.standard[1]

    private static let keys = Result {
        try (0..<2).map { number in
            let key = try LibCryptography().generateKey(.rs256)
            return DemoSigningKey(kid: "key\(number)", privateKey: key.privateKey, publicJWK: key.publicJWK)
        }
    }

    /// Starts a provider.
    ///
    /// - Parameters:
    ///   - users: the users that may sign in, in addition to Alice and Bob.
    ///   - clientSecret: the secret of the confidential client.
    ///   - redirectURIs: the redirect URLs that the seeds' client has registered; `nil` for every form.
    init(
        users: [DemoUser] = [], clientSecret: String = "demo client secret", redirectURIs: [String]? = nil,
        _ change: (inout DemoSwitches) -> Void = { _ in }
    ) throws {
        var configuration = DemoConfiguration()
        configuration.users += users
        if let redirectURIs {
            configuration.clients = [DemoClient(id: Self.clientID, redirectURIs: redirectURIs)]
        }
        configuration.clients.removeAll { $0.id == Self.confidentialID }
        configuration.clients.append(DemoClient(id: Self.confidentialID, secret: Secret(clientSecret)))
        provider = try DemoProvider(
            configuration: configuration, keys: try Self.keys.get(), cryptography: LibCryptography(),
            clock: SystemClock(), random: SystemRandom())
        provider.change(change)
        base = try provider.start()
        Canary.watch { [weak provider] in provider?.secrets ?? [] }
    }

    deinit { provider.stop() }

    /// Signs a user in on the pages of an authorization URL, and gives the URL that the browser ends at.
    func redirect(
        from url: String, user: DemoUser = alice, act: DemoSignIn.Act = .submit(), delivers: Bool = false
    ) throws -> String {
        var robot = DemoSignIn(username: user.email, password: user.password)
        return try robot.run(url, act: act, delivers: delivers)
    }

    /// Imports the seeds' file and signs a user in by the two halves; gives the account's id.
    @discardableResult func signIn(
        _ user: DemoUser = alice, at home: Home, type: String = typeName, more: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        if home.text(of: "config/credmgr/types/\(type).json") == nil { try define(type, at: home) }
        let url = try home.run(["login", "--type", type, "--print-url"] + more, sourceLocation: sourceLocation).line
        let redirect = try redirect(from: url, user: user)
        let done = try home.run(
            ["login", "--complete", "-"], input: redirect + "\n", sourceLocation: sourceLocation)
        return String(done.line.prefix { $0 != "\t" })
    }

    /// Imports the seeds' file under a name.
    func define(_ type: String = typeName, at home: Home, settings: AppSettings? = nil) throws {
        let file = try home.write((settings ?? AppSettings(base: base)).plist, to: type + ".plist")
        try home.run(["types", "import", file, "--name", type])
    }
}
