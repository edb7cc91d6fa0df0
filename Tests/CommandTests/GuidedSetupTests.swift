import CryptoSupport
import TestCommands
import TestPorts
import Testing

@testable import Commands
@testable import CredentialCore

/// The questions of `credmgr init`, without any effect: each answer leads to a question or to an effect.
@Suite struct GuidedSetupTests {
    private static let presets = PresetCatalog(
        folders: [], files: CommandScene(cryptography: LibCryptography()).machine.process().typeFiles)

    private func setup(
        _ taken: Set<String> = [], name: String? = nil, issuer: String? = nil
    ) throws -> GuidedSetup {
        GuidedSetup(
            presets: try Self.presets.entries().map { try $0.preset.get() }, taken: taken, name: name,
            issuer: issuer)
    }

    private static let facts = GuidedSetup.Facts(
        issuer: "https://op.example", redirectURI: "http://127.0.0.1/", scope: ["openid"])

    /// Gives answers, each of which is accepted.
    private func accept(_ answers: String..., by setup: inout GuidedSetup) {
        for answer in answers {
            guard case .accepted = setup.answer(answer) else {
                Issue.record("'\(answer)' is not accepted at \(setup.step)")
                continue
            }
        }
    }

    private func isRefused(_ answer: String, by setup: inout GuidedSetup) -> Bool {
        let before = setup.step
        guard case .refused(let reason) = setup.answer(answer) else { return false }
        return setup.step == before && reason.description.utf8.count < 200
    }

    // MARK: Providers

    @Test func `a preset leads through its placeholders to the provider, the client and the sign-in`() throws {
        var setup = try setup()
        #expect(setup.step == .ask(.provider))
        accept("keycloak", by: &setup)
        #expect(setup.step == .ask(.placeholder("url")))
        accept("https://sso.example", by: &setup)
        #expect(setup.step == .ask(.placeholder("realm")))
        accept("staff", by: &setup)
        #expect(setup.step == .perform(.askProvider))
        setup.finish(.facts(Self.facts))
        #expect(setup.step == .ask(.clientID))
        accept("app", by: &setup)
        #expect(setup.step == .ask(.name))
        accept("", by: &setup)
        #expect(setup.step == .perform(.signIn))
        #expect(
            setup.definitionWords() == [
                "types", "add", "Keycloak", "--preset", "keycloak", "--set", "realm=staff", "--set",
                "url=https://sso.example", "--client-id", "app",
            ])
        #expect(setup.loginWords == ["login", "--type", "Keycloak"])
        setup.finish(.signedIn)
        #expect(setup.step == .end)
    }

    @Test func `another provider is asked for its issuer, and its client for a secret`() throws {
        var setup = try setup()
        accept("other", "op.example", by: &setup)
        #expect(setup.step == .perform(.askProvider))
        var facts = Self.facts
        facts.issuer = "https://op.example/"
        setup.finish(.facts(facts))
        accept("app", by: &setup)
        #expect(setup.step == .ask(.clientSecret))
        accept("  secret with blanks \r", "Work", by: &setup)
        #expect(setup.clientSecret?.reveal() == "  secret with blanks")
        #expect(
            setup.definitionWords() == [
                "types", "add", "Work", "--issuer", "https://op.example/", "--redirect-uri",
                "http://127.0.0.1:8400/callback", "--client-id", "app", "--client-secret-file", "-",
            ])
    }

    @Test func `a provider that registers clients is asked to, if the user wants that`() throws {
        for (answer, next) in [
            ("", GuidedSetup.Step.ask(.name)), ("Y", .ask(.name)), ("n", .ask(.clientID)),
        ] {
            var setup = try setup()
            accept("other", "https://op.example", by: &setup)
            var facts = Self.facts
            facts.registersClients = true
            setup.finish(.facts(facts))
            #expect(setup.step == .ask(.registration))
            #expect(isRefused("perhaps", by: &setup))
            accept(answer, by: &setup)
            #expect(setup.step == next)
            #expect(setup.definitionWords().contains("--register") == (answer != "n"))
        }
    }

    @Test func `a domain of a tenant is resolved, and a wrong one is asked for again`() throws {
        var setup = try setup()
        accept("entra-id", by: &setup)
        #expect(isRefused("common", by: &setup))
        accept("contoso.com", by: &setup)
        #expect(setup.step == .perform(.resolveTenant("contoso.com")))
        setup.finish(.failed)
        #expect(setup.step == .ask(.placeholder("tenant")))
        accept("contoso.onmicrosoft.com", by: &setup)
        setup.finish(.tenant("7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"))
        #expect(setup.step == .perform(.askProvider))
        #expect(setup.definitionWords().contains("7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"))
    }

    @Test func `a placeholder with a default takes it, and one that follows from another is not asked for`() throws
    {
        var setup = try setup()
        accept("github", by: &setup)
        #expect(setup.step == .ask(.placeholder("host")))
        accept("", by: &setup)
        #expect(setup.step == .perform(.askProvider))
        #expect(
            setup.definitionWords(client: "x") == [
                "types", "add", "GitHub", "--preset", "github", "--client-id", "x",
            ])
    }

    @Test func `the settings of an app bring the client along`() throws {
        var setup = try setup()
        accept("plist", "./settings.plist", by: &setup)
        #expect(setup.step == .perform(.readSettings("./settings.plist")))
        setup.finish(.failed)
        #expect(setup.step == .ask(.settingsFile))
        accept("./right.plist", by: &setup)
        var facts = Self.facts
        (facts.clientID, facts.name) = ("app", "Tasks")
        setup.finish(.facts(facts))
        #expect(setup.step == .ask(.name) && setup.suggestedName == "Tasks")
        accept("", by: &setup)
        #expect(setup.definitionWords() == ["types", "import", "./right.plist", "--name", "Tasks"])
    }

    @Test func `an issuer that is known is asked at once`() throws {
        var setup = try setup(name: "Work", issuer: "https://op.example")
        #expect(setup.step == .perform(.askProvider))
        setup.finish(.failed)
        #expect(setup.step == .ask(.issuer))
        accept("https://op.example", by: &setup)
        setup.finish(.facts(Self.facts))
        accept("app", "", by: &setup)
        #expect(setup.step == .perform(.signIn), "the name is given")
    }

    // MARK: Answers that are wrong

    @Test func `what a provider refuses is asked for again from the beginning`() throws {
        for (choice, answers, question) in [
            ("keycloak", ["https://sso.example", "staff"], GuidedSetup.Question.placeholder("url")),
            ("other", ["https://op.example"], .issuer), ("google", [], .provider),
        ] as [(String, [String], GuidedSetup.Question)] {
            var setup = try setup()
            accept(choice, by: &setup)
            for answer in answers { accept(answer, by: &setup) }
            #expect(setup.step == .perform(.askProvider))
            setup.finish(.failed)
            #expect(setup.step == .ask(question))
        }
    }

    @Test(arguments: ["", "two words", "ümlaut", "a\u{1B}[2J", String(repeating: "x", count: 10_000)])
    func `a client ID that is none is refused with the reason, and not shown`(answer: String) throws {
        var setup = try setup()
        accept("other", "https://op.example", by: &setup)
        setup.finish(.facts(Self.facts))
        #expect(isRefused(answer, by: &setup))
    }

    @Test(arguments: [
        "http://op.example", "https://", "https://op.example/?x=1", "https://op.example/#x", "ftp://op.example", "",
        String(repeating: "x", count: 10_000),
    ])
    func `an issuer that is none is refused with the reason`(answer: String) throws {
        var setup = try setup()
        accept("other", by: &setup)
        #expect(isRefused(answer, by: &setup))
    }

    @Test func `a secret is required where the preset says so`() throws {
        var setup = try setup()
        accept("google", by: &setup)
        setup.finish(.facts(Self.facts))
        accept("app", by: &setup)
        #expect(setup.step == .ask(.clientSecret))
        #expect(isRefused("", by: &setup))
        #expect(isRefused("tab\tin it", by: &setup))
        #expect(isRefused(String(repeating: "x", count: 10_000), by: &setup))
        accept("secret", by: &setup)
        #expect(setup.step == .ask(.name))
    }

    @Test func `a name that is taken or no name is refused, and the suggestion is free`() throws {
        var setup = try setup(["Keycloak", "Keycloak-2", "Work"])
        accept("keycloak", "https://sso.example", "staff", by: &setup)
        setup.finish(.facts(Self.facts))
        accept("app", by: &setup)
        for answer in ["Work", "a/b", "..", String(repeating: "x", count: 10_000)] {
            #expect(isRefused(answer, by: &setup))
        }
        #expect(setup.suggestedName == "Keycloak-3")
    }

    @Test func `after a failure the same sign-in or another client is tried`() throws {
        var setup = try setup(name: "Work")
        accept("keycloak", "https://sso.example", "staff", by: &setup)
        setup.finish(.facts(Self.facts))
        accept("wrong", by: &setup)
        setup.finish(.failed)
        #expect(setup.step == .ask(.retry))
        accept("", by: &setup)
        #expect(setup.step == .perform(.signIn))
        setup.finish(.failed)
        #expect(isRefused("two words", by: &setup))
        accept("right", by: &setup)
        #expect(setup.step == .perform(.signIn) && setup.definitionWords().contains("right"))
    }

    @Test func `a client ID after a failed registration takes its place`() throws {
        var setup = try setup(name: "Work")
        accept("other", "op.example", by: &setup)
        var facts = Self.facts
        facts.registersClients = true
        setup.finish(.facts(facts))
        accept("y", by: &setup)
        setup.finish(.failed)
        #expect(setup.step == .ask(.retry))
        accept("", by: &setup)
        #expect(setup.step == .perform(.signIn) && setup.registers, "Enter registers again")
        setup.finish(.failed)
        accept("mine", by: &setup)
        #expect(setup.step == .ask(.clientSecret) && setup.replacesRegistered)
        accept("", by: &setup)
        #expect(setup.step == .perform(.signIn))
        let words = setup.definitionWords()
        #expect(words.contains("mine") && !words.contains("--register"), "\(words)")
    }

    @Test func `after the failed sign-in of a file the same or another file is read`() throws {
        var setup = try setup(name: "Work")
        accept("plist", "./one.json", by: &setup)
        var facts = Self.facts
        facts.confirmed = ["client_secret: the variable X"]
        setup.finish(.facts(facts))
        #expect(setup.definitionWords() == ["types", "import", "./one.json", "--name", "Work", "--trust"])
        setup.finish(.failed)
        #expect(setup.step == .ask(.retry))
        accept("./two.json", by: &setup)
        #expect(setup.step == .perform(.readSettings("./two.json")))
        #expect(setup.definitionWords() == ["types", "import", "./two.json", "--name", "Work"])
    }

    @Test func `a definition that is not confirmed leads back to the provider or the file`() throws {
        var preset = try setup(name: "Work")
        accept("keycloak", "https://sso.example", "staff", by: &preset)
        preset.finish(.unconfirmed)
        #expect(preset.step == .ask(.provider))
        for isRead in [false, true] {
            var file = try setup(name: "Work")
            accept("plist", "./one.json", by: &file)
            if isRead { file.finish(.facts(Self.facts)) }
            file.finish(.unconfirmed)
            #expect(file.step == .ask(.settingsFile))
        }
    }

    // MARK: The list

    @Test func `the list is chosen from by number, name or part, and narrowed by what several have`() throws {
        for answer in ["1", "auth0", "AUTH0", " auth0 ", "Auth0 tenant"] {
            var setup = try setup()
            accept(answer, by: &setup)
            #expect(setup.step == .ask(.placeholder("domain")), "\(answer)")
        }
        var setup = try setup()
        let all = setup.providerLines(width: 80).count
        guard case .narrowed = setup.answer("entra") else {
            Issue.record("two presets have the word")
            return
        }
        #expect(setup.providerLines(width: 80).count < all)
        #expect(isRefused("moon", by: &setup))
        #expect(isRefused(String(repeating: "x", count: 10_000), by: &setup))
        guard case .narrowed = setup.answer("") else {
            Issue.record("Enter shows the whole list")
            return
        }
        #expect(setup.providerLines(width: 80).count == all)
        for width in [20, 40, 80] {
            let lines = setup.providerLines(width: width)
            let longest = lines.map(\.count).max() ?? 0
            #expect(longest <= width || width == 20 && longest <= 30, "\(width): \(longest)")
        }
    }
}
