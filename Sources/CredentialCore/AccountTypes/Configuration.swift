public import StrictJSON

/// The settings of `config.json`: defaults of the product, which the environment and the options override.
public struct Configuration: Sendable, Hashable {
    /// `store`: the store for secrets of new accounts; `nil` for `auto`.
    public var store: StoreKind?
    /// `cache`: whether access tokens are cached between two calls; on unless said otherwise.
    public var usesCache = true
    /// `min_valid`: for how many seconds a token must still be valid; `nil` for the default rule.
    public var minimumValidity: Int64?
    /// `browser`: the command that opens a URL.
    public var browser: String?
    /// `redirect_peers`: whose programs may bring the answer of the browser.
    public var redirectPeers = AllowedRedirectPeers.sameUser
    /// `timeout`: how many seconds a command may wait for the network.
    public var timeout: Int64?
    /// `default_group`: the keychain group if no other one is named.
    public var defaultGroup: KeychainGroup?
    /// `client_metadata_url`: the URL of a document about this client, which `login --resource` signs in with if
    /// the provider accepts such clients.
    public var clientMetadataURL: String?
    /// `rules`: the account for each place; the first match wins.
    public var rules: [SelectionRule] = []
    /// `notifications`: whether the desktop notifies the user of sign-ins that have ended; on by default.
    public var notifies = true
    /// `unconfined_plugins`: plugins that are run without walls around them.
    public var unconfinedPlugins: [String] = []

    /// `ca_certificate`: the PEM file of certificate authorities to trust in addition to the system's.
    public var caCertificate: String?
    /// `proxy`: the URL of the proxy if neither the type nor the environment names one.
    public var proxy: String?

    /// Every key that the file may have.
    public static let keys = [
        "store", "cache", "min_valid", "browser", "redirect_peers", "timeout", "default_group",
        "client_metadata_url", "rules", "notifications", "unconfined_plugins", "ca_certificate", "proxy",
    ]

    /// Makes an empty configuration.
    public init() {}

    /// Reads the file.
    ///
    /// - Parameters:
    ///   - json: the content of the file.
    ///   - place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``, naming key and file.
    public init(json: JSONObject, place: String) throws(CredentialError) {
        let reader = try DefinitionReader(json, known: Self.keys, place: LocalizedMessage(verbatim: place))
        store =
            switch try reader.choice("store", of: StoreChoice.self) {
            case nil, .auto?: nil
            case .secretService?: .secretService
            case .file?: .file
            }
        usesCache = try Self.isOn("cache", reader)
        notifies = try Self.isOn("notifications", reader)
        minimumValidity = try reader.time("min_valid", atLeast: 0)
        browser = try reader.string("browser")
        let peers = try reader.string("redirect_peers") { word in
            AllowedRedirectPeers(word: word) == nil ? "must be \"same-user\", \"uid:NUMBER\" or \"any\"" : nil
        }
        redirectPeers = peers.flatMap(AllowedRedirectPeers.init) ?? .sameUser
        timeout = try reader.time("timeout", atLeast: 1)
        if let group = try reader.string("default_group", DefinitionValidation.name) {
            defaultGroup = try KeychainGroup(group)
        }
        clientMetadataURL = try reader.string("client_metadata_url", DefinitionValidation.webAddress)
        unconfinedPlugins = try reader.strings("unconfined_plugins", DefinitionValidation.name)
        caCertificate = try reader.string(ConnectionSettings.certificateKey, DefinitionValidation.absolutePath)
        proxy = try reader.string(ConnectionSettings.proxyKey, DefinitionValidation.proxy)
        for rule in try reader.objects("rules", known: SelectionRule.keys) { rules.append(try SelectionRule(rule)) }
    }

    /// Reads `config.json`; an empty configuration if it does not exist.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key; ``ErrorCode/inputOutput``.
    package init(at path: String, in files: any DefinitionStore) throws(CredentialError) {
        guard let file = try files.read(path) else {
            self.init()
            return
        }
        let members: JSONObject?
        do {
            members = try JSONValue.parse(file.bytes, dialect: .commented).object
        } catch {
            throw CredentialError(.configuration, "\(path) is not JSON: \(error)")
        }
        guard let members else { throw CredentialError(.configuration, "\(path) must be a JSON object") }
        try self.init(json: members, place: path)
    }

    private enum StoreChoice: String, CaseIterable {
        case auto
        case secretService = "secret-service"
        case file
    }

    private enum Switch: String, CaseIterable { case on, off }

    /// `"on"` and `"off"`, as in `CREDMGR_CACHE`, or a boolean.
    private static func isOn(_ key: String, _ reader: DefinitionReader) throws(CredentialError) -> Bool {
        if let flag = reader.value(key)?.bool { return flag }
        return try reader.choice(key, of: Switch.self) != .off
    }
}

/// One rule of `config.json`: in this folder, or for this host, take this type and account.
public struct SelectionRule: Sendable, Hashable {
    /// A folder, absolute or beginning with `~/`; `*` and `**` in it as in a shell.
    public var directory: String?
    /// `host` and `path`: the destinations of the token.
    public var place: DestinationPattern?
    /// The host that the rule is for.
    public var host: String? { place?.host }
    /// The account type to take.
    public var type: String?
    /// The account to take: id, username, subject or label.
    public var account: String?
    /// The user name that the host wants beside a token, for the helper protocols.
    public var username: String?

    static let keys = ["directory", "host", "path", "type", "account", "username"]

    /// Whether the rule is for a directory; a rule without a directory is for all.
    ///
    /// - Parameters:
    ///   - workingDirectory: the folder the command was called in.
    ///   - home: the directory that replaces `~`.
    package func fits(workingDirectory: String, home: String) -> Bool {
        guard let directory else { return true }
        let folder = directory == "~" || directory.hasPrefix("~/") ? home + directory.dropFirst() : directory
        return PathGlob(folder).fits(workingDirectory)
    }

    init(_ reader: DefinitionReader) throws(CredentialError) {
        directory = try reader.string("directory") { text in
            text == "~" || text.hasPrefix("~/") || text.hasPrefix("/")
                ? DefinitionValidation.plainText(text) : "must be absolute or begin with '~/'"
        }
        let host = try reader.string("host") { text in
            DestinationPattern(text) == nil ? "is not a host name or 'host:port'" : nil
        }
        let path = try reader.string("path") { text in
            DestinationPattern("localhost", path: text) == nil ? "is not a path" : nil
        }
        if path != nil, host == nil { throw reader.fault("path", "requires a 'host'") }
        place = host.flatMap { DestinationPattern($0, path: path) }
        type = try reader.string("type", DefinitionValidation.name)
        account = try reader.string("account")
        username = try reader.string("username", DefinitionValidation.plainText)
        if directory == nil && host == nil { throw reader.fault("directory", "or 'host' is missing") }
        if type == nil && account == nil { throw reader.fault("account", "or 'type' is missing") }
    }
}

/// An absolute directory in which `*` matches any part of a name, and `**` any number of names, also zero: so that
/// `/srv/**` is `/srv` and everything below it.
struct PathGlob {
    private let names: ArraySlice<Substring>

    /// Reads a pattern.
    init(_ text: String) { names = text.split(separator: "/")[...] }

    /// Whether a folder's absolute path is one of those meant.
    func fits(_ folder: String) -> Bool {
        Self.fits(names, folder.split(separator: "/")[...], any: "**") { pattern, name in
            Self.fits(Array(pattern)[...], Array(name)[...], any: "*") { $0 == $1 }
        }
    }

    private static func fits<Part: Equatable>(
        _ pattern: ArraySlice<Part>, _ parts: ArraySlice<Part>, any: Part, isLike: (Part, Part) -> Bool
    ) -> Bool {
        guard let first = pattern.first else { return parts.isEmpty }
        let rest = pattern.dropFirst()
        if first == any {
            return (parts.startIndex...parts.endIndex).contains {
                fits(rest, parts[$0...], any: any, isLike: isLike)
            }
        }
        guard let part = parts.first, isLike(first, part) else { return false }
        return fits(rest, parts.dropFirst(), any: any, isLike: isLike)
    }
}

/// The users whose programs may bring the response of the browser to localhost: `redirect_peers` of `config.json`.
///
/// A process that knows the authorization URL can bring a response of its own. An attacker's code would sign the
/// user in to the attacker's account (RFC 9700 §4.7), and an attacker's refusal would end the sign-in.
public enum AllowedRedirectPeers: Sendable, Hashable {
    /// `"same-user"`: this user's and root's. The rule.
    case sameUser
    /// `"uid:N"`: another user's as well, as that of a browser in a sandbox.
    case user(UInt32)
    /// `"any"`: every user's, if the kernel does not know the peers (WSL with its mirrored network).
    case any

    /// Reads the word of `config.json`; `nil` for an unknown one.
    public init?(word: String) {
        switch word {
        case "same-user": self = .sameUser
        case "any": self = .any
        default:
            guard word.hasPrefix("uid:"), let number = UInt32(word.dropFirst(4)) else { return nil }
            self = .user(number)
        }
    }

    /// The word of `config.json`.
    package var word: String {
        switch self {
        case .sameUser: "same-user"
        case .user(let number): "uid:\(number)"
        case .any: "any"
        }
    }

    /// Whether an answer of `owner` is taken.
    ///
    /// - Parameters:
    ///   - owner: the user at the other end; `nil` for one that is not known.
    ///   - user: this process's user.
    package func accept(_ owner: UInt32?, user: UInt32) -> Bool {
        switch self {
        case .any: true
        case .sameUser: owner == user || owner == 0
        case .user(let other): owner == user || owner == 0 || owner == other
        }
    }
}
