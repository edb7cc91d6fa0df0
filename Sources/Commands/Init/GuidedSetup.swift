import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// The questions of `credmgr init` as a state machine: it takes answers and outcomes, and names the next question
/// or effect. It has no effects of its own.
struct GuidedSetup: Sendable {
    /// The source of the definition.
    enum Provider: Sendable {
        /// A preset.
        case preset(Preset)
        /// Another provider, by its issuer.
        case issuer
        /// The settings of an iOS app.
        case settings
    }

    /// A question to the user.
    enum Question: Equatable, Sendable {
        /// The provider, from a list.
        case provider
        /// A placeholder of the preset, by its name.
        case placeholder(String)
        /// The issuer.
        case issuer
        /// The file with the settings of an iOS app.
        case settingsFile
        /// Whether credmgr registers a client.
        case registration
        /// The client ID.
        case clientID
        /// The client secret, unseen.
        case clientSecret
        /// The name of the account type.
        case name
        /// Whether to sign in again after a failure, or another client ID.
        case retry
    }

    /// An effect between two questions.
    enum Effect: Equatable, Sendable {
        /// Finds the ID of the tenant that has a domain.
        case resolveTenant(String)
        /// Asks the provider for its metadata.
        case askProvider
        /// Reads the settings of an iOS app.
        case readSettings(String)
        /// Signs in, and saves the account type with the account.
        case signIn
    }

    /// The next step.
    enum Step: Equatable, Sendable {
        case ask(Question)
        case perform(Effect)
        case end
    }

    /// The result of an answer.
    enum Reply: Sendable {
        /// The answer is accepted.
        case accepted
        /// The question is asked again, with the reason.
        case refused(LocalizedMessage)
        /// The question is asked again, with the rest of the list.
        case narrowed
    }

    /// The facts about the provider that come before the client.
    struct Facts: Sendable, Equatable {
        /// The issuer as the provider spells it.
        var issuer: String?
        /// The redirect URI to register.
        var redirectURI: String
        /// The scopes to tick.
        var scope: [String]
        /// The flow of the sign-in.
        var flow = SignInFlow.code
        /// Whether the provider registers clients by itself.
        var registersClients = false
        /// The client, if a file names it.
        var clientID: String?
        /// The name that a file gives.
        var name: String?
        /// The place at which a client is registered by hand.
        var place = ""
        /// The commands, files and variables of the definition that the user has confirmed.
        var confirmed: [String] = []
    }

    /// The result of an effect.
    enum Outcome: Sendable {
        /// The ID of a tenant.
        case tenant(String)
        /// The provider's part of the definition is valid.
        case facts(Facts)
        /// The account is signed in.
        case signedIn
        /// The user does not let the definition use the commands, files and variables that it names.
        case unconfirmed
        /// It failed; the user has been told why.
        case failed
    }

    private let providers: [(provider: Provider, item: Picker.Item)]
    private let taken: Set<String>
    private let isNameGiven: Bool
    private var picker: Picker

    /// The next step.
    private(set) var step: Step
    /// The provider that was chosen.
    private(set) var provider = Provider.issuer
    /// The facts that the provider has published.
    private(set) var facts: Facts?
    /// The client secret.
    private(set) var clientSecret: Secret?
    /// Whether credmgr registers the client.
    private(set) var registers = false
    /// Whether a client that the user names takes the place of one that credmgr was to register.
    private(set) var replacesRegistered = false
    private var values: [String: String] = [:]
    private(set) var issuer: String?
    private(set) var file: String?
    private var clientID: String?
    private(set) var name: String?

    /// The redirect URI for an unknown provider: it may compare the port.
    private static let pinnedRedirect = "http://127.0.0.1:8400/callback"
    /// The longest answers, in bytes.
    private static let longest = (clientID: 1_024, secret: 4_096)

    /// Begins with the list of providers, or with an issuer that is known.
    ///
    /// - Parameters:
    ///   - presets: the presets to choose from.
    ///   - taken: the names of account types that are defined.
    ///   - name: the name of the new type; `nil` to ask for it.
    ///   - issuer: the issuer; `nil` to ask for the provider.
    ///   - translations: the reader's language.
    init(
        presets: [Preset], taken: Set<String>, name: String?, issuer: String? = nil,
        in translations: any Translations = NoTranslations()
    ) {
        let own: [(Provider, Picker.Item)] = presets.map { preset in
            let text: LocalizedMessage =
                "\(LocalizedMessage(verbatim: preset.title)): \(LocalizedMessage(kept: preset.summary))"
            return (.preset(preset), Picker.Item(name: preset.name, text: text))
        }
        let others: [(Provider, Picker.Item)] = [
            (.issuer, Picker.Item(name: "other", text: "another OpenID Connect or OAuth provider, by its address")),
            (.settings, Picker.Item(name: "plist", text: "a settings.plist of an iOS app")),
        ]
        providers = (own + others).map { (provider: $0.0, item: $0.1) }
        picker = Picker(providers.map(\.item), in: translations)
        self.taken = taken
        self.name = name
        self.issuer = issuer
        isNameGiven = name != nil
        step = issuer == nil ? .ask(.provider) : .perform(.askProvider)
    }

    // MARK: Answers

    /// Takes the answer to the question of ``step``.
    mutating func answer(_ text: String) -> Reply {
        guard case .ask(let question) = step else { return .accepted }
        let word = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        switch question {
        case .provider: return choose(word)
        case .placeholder(let name): return fill(name, with: word)
        case .issuer: return take(issuer: word)
        case .settingsFile:
            guard !word.isEmpty, text.utf8.count < 4_096 else { return .refused("enter the path of the file") }
            read(word)
        case .registration:
            guard let yes = Self.isYes(word) else { return .refused("enter y or n") }
            registers = yes
            step = yes ? afterClient : .ask(.clientID)
        case .clientID:
            if let reason = Self.problem(ofClientID: word) { return .refused(reason) }
            clientID = word
            step = afterClientID
        case .clientSecret: return take(secret: text)
        case .name: return take(name: word)
        case .retry:
            guard !word.isEmpty else {
                step = .perform(.signIn)
                return .accepted
            }
            // The client of a file is in the file.
            if file != nil {
                guard text.utf8.count < 4_096 else { return .refused("enter the path of the file") }
                read(word)
                return .accepted
            }
            if let reason = Self.problem(ofClientID: word) { return .refused(reason) }
            clientID = word
            if registers { (registers, replacesRegistered) = (false, true) }
            step = asksForSecret ? .ask(.clientSecret) : .perform(.signIn)
        }
        return .accepted
    }

    private mutating func read(_ path: String) {
        (file, facts) = (path, nil)
        step = .perform(.readSettings(path))
    }

    private mutating func choose(_ word: String) -> Reply {
        switch picker.take(word) {
        case .narrowed: return .narrowed
        case .unknown(let reason): return .refused(reason)
        case .chosen(let place):
            provider = providers[place].provider
            (values, issuer, file, facts) = ([:], nil, nil, nil)
            (clientID, clientSecret, registers) = (nil, nil, false)
            step = nextNeed
            return .accepted
        }
    }

    private mutating func fill(_ name: String, with word: String) -> Reply {
        guard let placeholder = placeholders.first(where: { $0.name == name }) else { return .accepted }
        let value = word.isEmpty ? placeholder.standard ?? "" : word
        if placeholder.form.value(value) != nil {
            values[name] = value
            step = nextNeed
        } else if TenantLookup.isDomain(value, of: placeholder) {
            step = .perform(.resolveTenant(value))
        } else {
            return .refused("use \(placeholder.form.description)")
        }
        return .accepted
    }

    private mutating func take(issuer word: String) -> Reply {
        let text = word.contains("://") ? word : "https://" + word
        guard let address = URI(text), address.isWeb, address.isSecure, !address.host.isEmpty,
            address.query == nil, address.fragment == nil, text.utf8.count <= 2_048
        else { return .refused("use a URL with https, such as https://login.example.com") }
        issuer = text
        step = .perform(.askProvider)
        return .accepted
    }

    private mutating func take(secret text: String) -> Reply {
        var secret = text
        while secret.last?.isWhitespace == true { secret.removeLast() }
        if secret.isEmpty, preset?.needsClientSecret == true {
            return .refused("this provider requires a client secret even for native applications")
        }
        guard secret.utf8.count <= Self.longest.secret, secret.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return .refused("a client secret has no control characters and at most 4,096 bytes")
        }
        clientSecret = secret.isEmpty ? nil : Secret(secret)
        step = afterClient
        return .accepted
    }

    private mutating func take(name word: String) -> Reply {
        let chosen = word.isEmpty ? suggestedName : word
        guard Identifier.isValid(chosen) else {
            return .refused("use 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or digit")
        }
        if taken.contains(chosen) { return .refused("account type '\(chosen)' is already defined") }
        name = chosen
        step = .perform(.signIn)
        return .accepted
    }

    private static func isYes(_ word: String) -> Bool? {
        switch word.lowercased() {
        case "", "y", "yes": true
        case "n", "no": false
        default: nil
        }
    }

    /// The fault of a client ID (RFC 6749, appendix A.1); `nil` if it may be one.
    private static func problem(ofClientID word: String) -> LocalizedMessage? {
        if word.isEmpty { return "enter the client ID that the provider shows for the application" }
        guard word.utf8.count <= longest.clientID, word.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return "a client ID is one word of ASCII characters, at most 1,024 of them"
        }
        guard word.contains("://"), let problem = ClientIDMetadataDocument.problem(of: word) else { return nil }
        return "this client ID \(problem)"
    }

    // MARK: Outcomes

    /// Takes the outcome of the effect of ``step``.
    mutating func finish(_ outcome: Outcome) {
        guard case .perform(let effect) = step else { return }
        switch (effect, outcome) {
        case (.resolveTenant, .tenant(let id)):
            values["tenant"] = id
            step = nextNeed
        case (.resolveTenant, _): step = .ask(.placeholder("tenant"))
        case (.askProvider, .facts(let facts)):
            self.facts = facts
            issuer = issuer == nil ? nil : facts.issuer ?? issuer
            step = .ask(facts.registersClients ? .registration : .clientID)
        case (.askProvider, .unconfirmed): step = .ask(.provider)
        case (.askProvider, _):
            values = [:]
            step = nextNeed == .perform(.askProvider) ? .ask(.provider) : nextNeed
        case (.readSettings, .facts(let facts)):
            self.facts = facts
            clientID = facts.clientID
            step = afterClient
        case (.readSettings, _): step = .ask(.settingsFile)
        case (.signIn, .signedIn): step = .end
        case (.signIn, .unconfirmed): step = .ask(file == nil ? .provider : .settingsFile)
        case (.signIn, _): step = .ask(.retry)
        }
    }

    // MARK: What comes next

    /// The preset that was chosen.
    var preset: Preset? {
        if case .preset(let preset) = provider { return preset }
        return nil
    }

    /// The placeholders that the user fills in: those without a default, or with one that is the same for all.
    private var placeholders: [Preset.Placeholder] {
        (preset?.placeholders ?? []).filter { placeholder in
            placeholder.standard.map { PresetText.names(in: .string($0)).isEmpty } ?? true
        }
    }

    /// The placeholder of a question.
    func placeholder(_ name: String) -> Preset.Placeholder? { placeholders.first { $0.name == name } }

    private var nextNeed: Step {
        switch provider {
        case .preset:
            let missing = placeholders.first { values[$0.name] == nil }
            return missing.map { .ask(.placeholder($0.name)) } ?? .perform(.askProvider)
        case .issuer: return .ask(.issuer)
        case .settings: return .ask(.settingsFile)
        }
    }

    /// Whether the client may have a secret.
    private var asksForSecret: Bool {
        if let preset { return preset.needsClientSecret }
        if case .issuer = provider { return true }
        return false
    }

    private var afterClientID: Step { asksForSecret ? .ask(.clientSecret) : afterClient }
    private var afterClient: Step { isNameGiven || name != nil ? .perform(.signIn) : .ask(.name) }

    /// The lines of the list of providers that are left.
    func providerLines(width: Int) -> [String] { picker.lines(width: width) }

    /// A name for the account type that no other has.
    var suggestedName: String {
        let base: String =
            switch provider {
            case .preset(let preset): Identifier.near(preset.title) ?? preset.name
            case .issuer: IssuerTypes.name(of: issuer ?? "")
            case .settings: facts?.name ?? "app"
            }
        guard taken.contains(base) else { return base }
        return (2...99).lazy.map { "\(base)-\($0)" }.first { !taken.contains($0) } ?? base
    }

    // MARK: Commands

    /// The words of the command that defines the account type.
    ///
    /// - Parameter clientID: the client, while it is not known.
    func definitionWords(client placeholder: String? = nil) -> [String] {
        let name = name ?? suggestedName
        // Without questions, the option confirms the uses that the user has confirmed here.
        let trust = facts?.confirmed.isEmpty == false ? ["--trust"] : []
        if let file { return ["types", "import", file, "--name", name] + trust }
        var words = ["types", "add", name]
        if let preset {
            words += ["--preset", preset.name] + trust
            for (name, value) in values.sorted(by: { $0.key < $1.key })
            where value != self.placeholder(name)?.standard {
                words += name == "tenant" ? ["--tenant", value] : ["--set", "\(name)=\(value)"]
            }
        } else if let issuer {
            words += ["--issuer", issuer]
            if !registers { words += ["--redirect-uri", Self.pinnedRedirect] }
        }
        if registers { return words + ["--register"] }
        if let client = clientID ?? placeholder { words += ["--client-id", client] }
        if clientSecret != nil { words += ["--client-secret-file", "-"] }
        return words
    }

    /// The words of the command that signs in.
    var loginWords: [String] { ["login", "--type", name ?? suggestedName] }
}
