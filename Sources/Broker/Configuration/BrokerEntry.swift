package import CredentialCore

/// An entry of a broker: one account of one type, with the most that a caller may request.
public struct BrokerEntry: Sendable, Hashable {
    /// The form in which callers get tokens.
    public enum Release: String, Sendable, CaseIterable {
        /// Access tokens.
        case token
        /// Access tokens and ID tokens.
        case idToken = "id_token"
        /// No tokens: only the proxy uses them.
        case proxyOnly = "proxy-only"

        /// The rank of the form; a higher rank permits more.
        var rank: Int {
            switch self {
            case .proxyOnly: 0
            case .token: 1
            case .idToken: 2
            }
        }
    }

    /// The answer to a provider that grants more scopes than the entry has.
    public enum Broader: String, Sendable, CaseIterable {
        case refuse, accept
    }

    /// The name by which callers choose the entry.
    public var name: String
    /// The account type.
    public var type: String
    /// The account's name; `nil` for the type's default.
    public var account: String?
    /// The policy; `nil` for the type's default.
    public var policy: String?
    /// The scopes; `nil` for the type's.
    public var scope: [String]?
    /// The resources (RFC 8707), the default first.
    public var resource: [String]
    /// The audiences, the default first.
    public var audience: [String]
    /// The origins that callers may name.
    public var origins: [String]
    /// The form in which callers get tokens.
    public var release: Release
    /// Whether a granted scope that is wider than the entry's is refused.
    public var broader: Broader

    /// The keys of an entry in the file.
    package static let keys = [
        "name", "type", "account", "policy", "scope", "resource", "audience", "origins", "release", "broader",
    ]

    /// Makes an entry without restrictions.
    public init(name: String, type: String, release: Release = .token) {
        self.name = name
        self.type = type
        self.release = release
        resource = []
        audience = []
        origins = []
        broader = .refuse
    }

    /// Reads an entry.
    ///
    /// - Throws: ``ErrorCode/configuration``, with the key.
    init(_ reader: DefinitionReader) throws(CredentialError) {
        guard let name = try reader.string("name", DefinitionValidation.name) else {
            throw reader.fault("name", "is missing")
        }
        guard let type = try reader.string("type", DefinitionValidation.name) else {
            throw reader.fault("type", "is missing")
        }
        let origins = try reader.strings("origins") { text in
            BrokerOrigin(text) == nil ? "must be an origin such as https://api.example.com" : nil
        }
        let release: Release
        if let chosen = try reader.choice("release", of: Release.self) {
            release = chosen
        } else if origins.isEmpty {
            throw reader.fault("release", "or 'origins' is missing")
        } else {
            release = .proxyOnly
        }
        self.init(name: name, type: type, release: release)
        account = try reader.string("account")
        policy = try reader.string("policy")
        if reader.has("scope") {
            let words = try reader.strings("scope", DefinitionValidation.scopeToken)
            // An order without scopes means all of the type's.
            if words.isEmpty { throw reader.fault("scope", "is empty") }
            scope = words
        }
        resource = try reader.strings("resource", DefinitionValidation.plainText)
        audience = try reader.strings("audience", DefinitionValidation.plainText)
        self.origins = origins
        broader = try reader.choice("broader", of: Broader.self) ?? .refuse
    }

    /// Returns this entry within the bounds of a newer version of it; `nil` if no part of it is left.
    ///
    /// - Parameter defaults: returns the values of an account type, which apply if an entry has no list of its own.
    func narrowed(to newer: BrokerEntry, defaults: (String) -> TypeDefaults) -> BrokerEntry? {
        guard newer.type == type, newer.account == account, newer.policy == policy else { return nil }
        var entry = self
        if scope != newer.scope {
            let typeScope = defaults(type).scope, bound = newer.scope ?? typeScope
            let left = (scope ?? typeScope).filter(bound.contains)
            // A token without scopes has those that the provider chooses.
            if left.isEmpty { return nil }
            entry.scope = left
        }
        // A token for a resource or an audience that this entry does not have is one for another API.
        guard let resource = Self.narrowed(resource, to: newer.resource, own: { defaults(type).resource }),
            let audience = Self.narrowed(audience, to: newer.audience, own: { defaults(type).audience })
        else { return nil }
        entry.resource = resource
        entry.audience = audience
        // An entry without origins may have all that its type may have, and a list narrows that. An entry ends if
        // no origin of its own is left: its token would be for every server of the type.
        entry.origins = origins.isEmpty ? newer.origins : origins.filter(newer.origins.contains)
        if entry.origins.isEmpty, !origins.isEmpty { return nil }
        if newer.release.rank < release.rank { entry.release = newer.release }
        if newer.broader == .refuse { entry.broader = .refuse }
        return entry
    }

    /// Returns the values of a list within the bounds of a newer list; `nil` if no value is left.
    ///
    /// - Parameter own: returns the type's value, which applies without a list.
    private static func narrowed(_ list: [String], to newer: [String], own: () -> String?) -> [String]? {
        if list == newer { return list }
        let value = [own()].compactMap(\.self), bound = newer.isEmpty ? value : newer
        let left = (list.isEmpty ? value : list).filter(bound.contains)
        return left.isEmpty ? nil : left
    }
}

/// An origin (RFC 6454 §6.2): a scheme, a host and a port.
public struct BrokerOrigin: Sendable, Hashable, CustomStringConvertible {
    /// The scheme, the host and the port, in lower case.
    package let destination: Destination

    /// Reads `https://HOST` or `https://HOST:PORT`.
    ///
    /// - Returns: `nil` for a text with a path, and for a text that is not an origin.
    public init?(_ text: String) {
        let authority = text.drop { $0 != ":" }.dropFirst(3)
        guard text.contains("://"), !authority.contains(where: { "/?#@\\ ".contains($0) }), let address = URI(text),
            let destination = Destination(address)
        else { return nil }
        self.destination = destination
    }

    /// The origin of a server.
    package init(_ destination: Destination) { self.destination = destination }

    /// The scheme and the host, with the port if the scheme has another.
    public var description: String {
        let host = destination.host.contains(":") ? "[\(destination.host)]" : destination.host
        return "\(destination.scheme)://\(host)" + (destination.isAtStandardPort ? "" : ":\(destination.port)")
    }

    /// Whether both are the same origin.
    public static func == (left: BrokerOrigin, right: BrokerOrigin) -> Bool {
        left.description == right.description
    }

    /// Hashes the origin.
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
