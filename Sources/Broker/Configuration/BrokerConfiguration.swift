public import CredentialCore
public import StrictJSON

/// The configuration of a broker: `$XDG_CONFIG_HOME/credmgr/brokers/NAME.json`.
public struct BrokerConfiguration: Sendable, Hashable {
    /// A language of the socket.
    public enum Language: String, Sendable, CaseIterable {
        case credmgr
        case oidcAgent = "oidc-agent"
    }

    /// When the user is asked.
    public enum Ask: String, Sendable, CaseIterable {
        case never, first, always

        /// The rules by how much they ask.
        var rank: Int {
            switch self {
            case .never: 0
            case .first: 1
            case .always: 2
            }
        }
    }

    /// A way to ask the user.
    public enum AskBy: String, Sendable, CaseIterable {
        case desktop, terminal, pinentry
    }

    /// The settings of the audit log.
    public struct Audit: Sendable, Hashable {
        /// Whether lines have paths.
        public var paths = false
        /// Whether lines are copied to the system journal.
        public var journal = false
        /// Whether a token is released although its line cannot be written.
        public var continuesOnFailure = false

        /// Makes the defaults.
        public init() {}
    }

    /// The broker's name.
    public var name: String
    /// The entries, in the order of the file.
    public var entries: [BrokerEntry] = []
    /// The languages.
    public var speak: [Language] = [.credmgr]
    /// When the user is asked.
    public var ask = Ask.first
    /// The ways to ask, the first choice first.
    public var askBy: [AskBy] = [.desktop, .terminal]
    /// For how many seconds a consent is remembered.
    public var remember: Int64 = 28_800
    /// For how many seconds a prompt waits.
    public var promptTimeout: Int64 = 60
    /// When the broker ends.
    public var until: Timestamp?
    /// How many seconds after the first connection the broker ends.
    public var lifetime: Int64?
    /// After how many seconds without a connection a server ends; `nil` for the server's default.
    public var idle: Int64?
    /// The users whose processes may connect.
    public var callers: [AllowedCaller] = [.itself]
    /// The longest remaining life of a token that is released, in seconds.
    public var tokenLifeAtMost: Int64?
    /// Whether the broker has tokens of its own.
    public var ownToken = false
    /// Whether the server revokes the broker's tokens when it ends.
    public var revokesAtEnd = false
    /// How many connections are open at most.
    public var connections = 64
    /// How many requests for tokens a minute are answered at most.
    public var perMinute = 120
    /// The clouds whose metadata service the broker answers for.
    public var clouds = BrokerClouds()
    /// Whether Google's `email` has no user name.
    public var isAnonymous = false
    /// The audit log.
    public var audit = Audit()

    /// Every key that the file may have.
    package static let keys = [
        "entries", "speak", "ask", "ask_by", "remember", "prompt_timeout", "until", "for", "idle", "callers",
        "token_life_at_most", "own_token", "revoke_at_end", "limits", "clouds", "anonymous", "audit",
    ]

    /// Makes a configuration without entries.
    public init(name: String) { self.name = name }

    /// Reads the content of a file.
    ///
    /// - Parameters:
    ///   - name: the broker's name.
    ///   - place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``, with key and file; for an unknown key with the nearest known one.
    public init(name: String, content: [UInt8], place: String) throws(CredentialError) {
        let json: JSONValue
        do {
            json = try JSONValue.parse(content)
        } catch {
            throw CredentialError(.configuration, "\(UntrustedText.shown(place)) is not JSON: \(error.reason.text)")
        }
        guard let object = json.object else {
            throw CredentialError(.configuration, "\(UntrustedText.shown(place)) must be a JSON object")
        }
        try self.init(name: name, json: object, place: place)
    }

    /// Reads the members of a file.
    ///
    /// - Throws: as ``init(name:content:place:)``.
    public init(name: String, json: JSONObject, place: String) throws(CredentialError) {
        let reader = try DefinitionReader(json, known: Self.keys, place: LocalizedMessage(verbatim: place))
        self.init(name: name)
        guard reader.has("entries") else { throw reader.fault("entries", "is missing") }
        for entry in try reader.objects("entries", known: BrokerEntry.keys) {
            let entry = try BrokerEntry(entry)
            if entries.contains(where: { $0.name == entry.name }) {
                throw reader.fault("entries", "has two entries '\(entry.name)'")
            }
            entries.append(entry)
        }
        if reader.value("speak")?.array?.contains("proxy") == true {
            throw reader.fault(
                "speak", "cannot have \"proxy\"", hint: "this version has no proxy: remove \"proxy\" from speak")
        }
        if reader.has("speak") { speak = try Self.words("speak", reader) }
        ask = try reader.choice("ask", of: Ask.self) ?? .first
        if reader.has("ask_by") { askBy = try Self.words("ask_by", reader) }
        remember = try reader.time("remember", atLeast: 0) ?? remember
        promptTimeout = try reader.time("prompt_timeout", atLeast: 1) ?? promptTimeout
        if let text = try reader.string("until") {
            guard let time = Timestamp(rfc3339: text) else {
                throw reader.fault("until", "must be a time such as 2026-11-26T12:00:00Z")
            }
            until = time
        }
        lifetime = try reader.time("for", atLeast: 1)
        idle = try reader.time("idle", atLeast: 1)
        if reader.has("callers") { callers = try AllowedCaller.list(reader) }
        if ask == .never, callers.contains(.any) {
            throw reader.fault("callers", "cannot have the user 'any' with \"ask\": \"never\"")
        }
        tokenLifeAtMost = try reader.time("token_life_at_most", atLeast: 1)
        ownToken = try reader.flag("own_token") ?? false
        revokesAtEnd = try reader.flag("revoke_at_end") ?? false
        if revokesAtEnd, !ownToken { throw reader.fault("revoke_at_end", "needs \"own_token\": true") }
        let limits = try reader.object("limits", known: ["connections", "per_minute"])
        connections = try Self.count("connections", limits, largest: 1_024) ?? connections
        perMinute = try Self.count("per_minute", limits, largest: 100_000) ?? perMinute
        clouds = try BrokerClouds(
            try reader.object("clouds", known: BrokerClouds.keys), entries: entries.map(\.name))
        isAnonymous = try reader.flag("anonymous") ?? false
        let log = try reader.object("audit", known: ["paths", "journal", "on_failure"])
        audit.paths = try log.flag("paths") ?? false
        audit.journal = try log.flag("journal") ?? false
        audit.continuesOnFailure = try log.choice("on_failure", of: OnFailure.self) == .continue
    }

    private enum OnFailure: String, CaseIterable {
        case refuse
        case `continue`
    }

    private static func words<Word: CaseIterable & RawRepresentable<String>>(
        _ key: String, _ reader: DefinitionReader
    ) throws(CredentialError) -> [Word] {
        let known = Word.allCases.map(\.rawValue)
        return try reader.strings(key) { text in
            known.contains(text) ? nil : "must have only words of \(known.joined(separator: ", "))"
        }.compactMap(Word.init(rawValue:))
    }

    private static func count(
        _ key: String, _ reader: DefinitionReader, largest: Int64
    ) throws(CredentialError) -> Int? {
        guard let value = reader.value(key) else { return nil }
        guard let number = value.integer, (1...largest).contains(number) else {
            throw reader.fault(key, "must be a number from 1 to \(largest)")
        }
        return Int(number)
    }
}

/// A user whose processes may connect to a broker.
public enum AllowedCaller: Sendable, Hashable {
    /// The broker's own user.
    case itself
    /// Root.
    case root
    /// The user with this number.
    case user(UInt32)
    /// Any user.
    case any

    /// Reads `self`, `root`, `uid:N` or `any`.
    public init?(word: String) {
        switch word {
        case "self": self = .itself
        case "root": self = .root
        case "any": self = .any
        default:
            guard word.hasPrefix("uid:"), let number = UInt32(word.dropFirst(4)) else { return nil }
            self = .user(number)
        }
    }

    /// Whether it means a user.
    ///
    /// - Parameters:
    ///   - uid: the peer's user.
    ///   - own: the broker's user.
    public func includes(_ uid: UInt32, own: UInt32) -> Bool {
        switch self {
        case .itself: uid == own
        case .root: uid == 0
        case .user(let number): uid == number
        case .any: true
        }
    }

    static func list(_ reader: DefinitionReader) throws(CredentialError) -> [AllowedCaller] {
        let users = try reader.object("callers", known: ["users"]).strings("users") { text in
            AllowedCaller(word: text) == nil ? "must be \"self\", \"root\", \"uid:NUMBER\" or \"any\"" : nil
        }
        return users.compactMap(AllowedCaller.init(word:))
    }
}
