import Foundation
import TestSupport
import Testing

/// A user who has signed in once in the whole run, and other vendors' programs that use the token here. Each scene
/// has a home of its own with that sign-in in it, as programs write their configuration there.
final class ProgramScene: Sendable {
    let home: Home
    let tenant: DemoTenant
    /// The account's token.
    let token: String

    /// The folder in which scripts/install-servers puts the programs of PyPI that take tokens.
    static let clients: String = {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "") + "/.cache"
        return cache + "/credmgr-tests/clients/bin"
    }()

    /// The folders that are searched for programs: those of PyPI, then the tests' own `PATH`.
    private static let folders =
        [clients] + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        + ["/usr/bin", "/bin"]

    /// Whether a program is there: some are neither in Debian 12 nor on PyPI.
    static func has(_ program: String) -> Bool {
        folders.contains { FileManager.default.isExecutableFile(atPath: $0 + "/" + program) }
    }

    /// The one sign-in, and the home in which it was made.
    private struct SignIn: Sendable {
        let home: Home, tenant: DemoTenant, token: String

        init() throws {
            home = try Home()
            tenant = try DemoTenant()
            try tenant.signIn(at: home)
            token = try home.run(["token"]).line
        }
    }

    private static let signIn = Result { try SignIn() }

    init() throws {
        let once = try Self.signIn.get()
        home = try Home()
        tenant = once.tenant
        let folders = ["config", "data", ".local"].map { once.home.path + "/" + $0 }
        let copied = try ChildProcess(
            "cp", ["-a", "--"] + folders.filter(FileManager.default.fileExists(atPath:)) + [home.path]
        ).run()
        #expect(copied.exitStatus == 0, "\(copied.standardError)")
        token = try home.run(["token"]).line
        #expect(token == once.token)
        #expect(tenant.provider.counters.grants["authorization_code"] == 1, "nobody signs in again")
        try FileManager.default.createDirectory(atPath: home.path + "/bin", withIntermediateDirectories: true)
        // By its name, as if a package had installed it.
        try FileManager.default.createSymbolicLink(
            atPath: home.path + "/bin/credmgr", withDestinationPath: Home.program)
    }

    /// The environment of a user with these programs, which trust a server's certificate.
    func environment(trusting certificate: String? = nil) -> [String: String] {
        var environment = home.environment
        environment["PATH"] =
            (["\(home.path)/.local/bin", "\(home.path)/bin"] + Self.folders).joined(separator: ":")
        let own = ProcessInfo.processInfo.environment
        // A cargo of rustup's finds its toolchain by the home.
        environment["RUSTUP_HOME"] = own["RUSTUP_HOME"] ?? (own["HOME"] ?? "") + "/.rustup"
        for (name, value) in [
            "CHECKPOINT_DISABLE": "1", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-modcacherw",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "npm_config_update_notifier": "false",
        ] { environment[name] = value }
        guard let certificate else { return environment }
        for name in ["SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "npm_config_cafile"] {
            environment[name] = certificate
        }
        return environment
    }

    /// Runs one of these programs to its end.
    @discardableResult func run(
        _ words: [String], _ environment: [String: String], input: String = "", exits status: Int32? = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        let outcome = try ChildProcess("env", words, environment: environment).run(input: input, seconds: 180)
        let shown = Comment(
            rawValue: "\(words.joined(separator: " "))\n\(outcome.standardOutput)\(outcome.standardError)")
        if let status { #expect(outcome.exitStatus == status, shown, sourceLocation: sourceLocation) }
        if outcome.exitStatus == 0 { for word in words { ProgramVersion.tell(word, environment) } }
        return outcome
    }

    /// `credmgr setup`, which must say that the program was let in.
    func setUp(
        _ words: [String], _ environment: [String: String], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let done = try home.run(
            ["setup"] + words + ["--type", DemoTenant.typeName], environment: environment,
            sourceLocation: sourceLocation)
        #expect(
            done.standardError.contains("the server accepted"), Comment(rawValue: done.standardError),
            sourceLocation: sourceLocation)
    }
}
