public import StrictJSON

/// What `config.json` says: defaults of the product, beneath the environment and the options.
public struct ProductConfiguration: Sendable, Hashable {
    /// `store`: where secrets of new accounts go; `nil` for `auto`.
    public var store: StoreKind?
    /// `cache`: whether access tokens are cached in the kernel's keyring; on unless said otherwise.
    public var usesCache = true
    /// `min_valid`: for how many seconds a token must still be valid; `nil` for the default rule.
    public var minimumValidity: Int64?
    /// `browser`: the command that opens a URL.
    public var browser: String?
    /// `timeout`: how many seconds a command may wait for the network.
    public var timeout: Int64?
    /// `default_group`: the keychain group where nothing names another.
    public var defaultGroup: KeychainGroup?
    /// `rules`: which account is taken where; the first that fits counts.
    public var rules: [AccountRule] = []

    /// Every key that the file may have.
    public static let keys = [
        "store", "cache", "min_valid", "browser", "timeout", "default_group", "rules",
    ]

    /// Makes a configuration that says nothing.
    public init() {}

    /// Reads the file.
    ///
    /// - Parameter place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``, naming key and file.
    public init(json: JSONObject, place: String) throws(CredentialError) {
        let reader = try DefinitionReader(json, known: Self.keys, place: place)
        store =
            switch try reader.choice("store", of: StoreChoice.self) {
            case nil, .auto?: nil
            case .secretService?: .secretService
            case .file?: .file
            }
        usesCache = try Self.cache(reader)
        minimumValidity = try reader.integer("min_valid", in: 0...86_400)
        browser = try reader.string("browser")
        timeout = try reader.integer("timeout", in: 1...3_600)
        if let group = try reader.string("default_group", DefinitionRule.name) {
            defaultGroup = try KeychainGroup(group)
        }
        for rule in try reader.objects("rules", known: AccountRule.keys) { rules.append(try AccountRule(rule)) }
    }

    private enum StoreChoice: String, CaseIterable {
        case auto
        case secretService = "secret-service"
        case file
    }

    private enum Switch: String, CaseIterable { case on, off }

    /// `"on"` and `"off"`, as in `CREDMGR_CACHE`, or a boolean.
    private static func cache(_ reader: DefinitionReader) throws(CredentialError) -> Bool {
        if let flag = reader.value("cache")?.bool { return flag }
        return try reader.choice("cache", of: Switch.self) != .off
    }
}

/// One rule of `config.json`: in this folder, or for this host, take this type and account.
public struct AccountRule: Sendable, Hashable {
    /// A folder, absolute or beginning with `~/`; see ``FolderPattern``.
    public var directory: String?
    /// A host name, for the helper protocols.
    public var host: String?
    /// The account type to take.
    public var type: String?
    /// The account to take: id, username, subject or label.
    public var account: String?
    /// The user name that the host wants beside a token, for the helper protocols.
    public var username: String?

    static let keys = ["directory", "host", "type", "account", "username"]

    /// Whether the rule is for this place: each of ``directory`` and ``host`` that it names must fit.
    ///
    /// - Parameters:
    ///   - workingDirectory: the folder the command was called in.
    ///   - home: what `~` stands for.
    package func fits(workingDirectory: String, host wantedHost: String?, home: String) -> Bool {
        if let host, host.lowercased() != wantedHost?.lowercased() { return false }
        guard let directory else { return true }
        let folder = directory == "~" || directory.hasPrefix("~/") ? home + directory.dropFirst() : directory
        return FolderPattern(folder).fits(workingDirectory)
    }

    init(_ reader: DefinitionReader) throws(CredentialError) {
        directory = try reader.string("directory") { text in
            text == "~" || text.hasPrefix("~/") || text.hasPrefix("/")
                ? DefinitionRule.plainText(text) : "must be absolute or begin with '~/'"
        }
        host = try reader.string("host") { text in
            WebAddress("https://\(text)")?.host == text.lowercased() ? nil : "is not a host name"
        }
        type = try reader.string("type", DefinitionRule.name)
        account = try reader.string("account")
        username = try reader.string("username", DefinitionRule.plainText)
        if directory == nil && host == nil { throw reader.fault("directory", "or 'host' is missing") }
        if type == nil && account == nil { throw reader.fault("account", "or 'type' is missing") }
    }
}
