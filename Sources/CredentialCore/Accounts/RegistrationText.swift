/// The text that says at which provider a client is registered: a part of a ``ClientIdentity``.
///
/// It is made from a definition alone, stored with accounts and compared; it is never used as an address
/// (docs/decisions/0030). Two definitions with equal texts send an account's tokens to the same places.
package struct RegistrationText: Sendable {
    /// The endpoints that receive a token or a secret of the client: an explicit one is a part of the registration.
    package static let endpoints: [AccountType.Endpoint] = [
        .token, .deviceAuthorization, .revocation, .introspection, .pushedAuthorizationRequest, .userInfo,
        .registration,
    ]

    private var words: [String]

    /// Begins a text.
    ///
    /// - Parameter words: the adapter, and for a plugin its name.
    package init(_ words: String...) { self.words = words }

    /// The text.
    package var text: String { words.joined(separator: " ") }

    /// Adds the issuer and each explicit endpoint; without an issuer the whole token endpoint, and each other one
    /// that is at another origin.
    package mutating func add(issuer: String?, _ explicit: [AccountType.Endpoint: URI]) {
        if let issuer { words.append(issuer) }
        let origin = explicit[.token]?.origin
        for endpoint in Self.endpoints {
            guard let address = explicit[endpoint] else { continue }
            if issuer == nil, endpoint != .token, address.origin == origin { continue }
            words.append("\(endpoint.rawValue)=\(Self.whole(address))")
        }
    }

    /// Adds the issuer, else the whole token endpoint.
    package mutating func add(issuer: String?, tokenEndpoint: URI?) {
        if let issuer { return words.append(issuer) }
        if let tokenEndpoint { words.append(Self.tokenEndpoint + Self.whole(tokenEndpoint)) }
    }

    /// Adds a setting of a plugin.
    package mutating func add(setting name: String, _ value: String) {
        words.append("\(Self.setting)\(name)=\(Self.escaped(value))")
    }

    // MARK: The earlier form

    /// The text that credmgr wrote before for the same definition: the issuer alone, or the origin of the token
    /// endpoint; `nil` if the form of this text has not changed.
    static func earlier(_ text: String) -> String? {
        var words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        switch words.removeFirst() {
        case "oauth2":
            guard let place = words.first else { return nil }
            return origin(place) ?? place
        case "plugin":
            let rest = words.dropFirst().map { origin($0) ?? setting($0) ?? $0 }
            return (["plugin:" + (words.first ?? "")] + rest).joined(separator: " ")
        default: return nil
        }
    }

    /// Whether a text may be one of the earlier form: only then it is worth the look at a definition.
    static func mayBeEarlier(_ text: String) -> Bool { earlierBeginnings.contains(where: text.hasPrefix) }

    /// How texts of the earlier form begin.
    static let earlierBeginnings = ["https://", "http://", "plugin:"]

    private static let tokenEndpoint = AccountType.Endpoint.token.rawValue + "="
    private static let setting = "setting."

    private static func origin(_ word: String) -> String? {
        word.hasPrefix(tokenEndpoint) ? URI(String(word.dropFirst(tokenEndpoint.count)))?.origin : nil
    }

    private static func setting(_ word: String) -> String? {
        guard word.hasPrefix(setting) else { return nil }
        return String(word.dropFirst(setting.count)).replacing("%20", with: " ").replacing("%25", with: "%")
    }

    /// A value without the blanks that separate words.
    private static func escaped(_ value: String) -> String {
        value.replacing("%", with: "%25").replacing(" ", with: "%20")
    }

    private static func whole(_ address: URI) -> String {
        address.origin + address.path + (address.query.map { "?" + $0 } ?? "")
    }
}

extension ClientIdentity {
    /// The registration of a definition.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    package init(of type: AccountType, _ adapters: AdapterRegistry) throws(CredentialError) {
        self.init(provider: try adapters.adapter(of: type).provider(of: type), clientID: type.clientID)
    }

    /// Whether it names an endpoint, and not an issuer alone.
    var namesPlaces: Bool {
        provider.split(separator: " ").contains { word in
            RegistrationText.endpoints.contains { word.hasPrefix("\($0.rawValue)=") }
        }
    }

    /// The same registration in the form that credmgr wrote before; `nil` if that is the same.
    package var earlier: ClientIdentity? {
        RegistrationText.earlier(provider).map { ClientIdentity(provider: $0, clientID: clientID) }
    }

    /// The provider as people know it: the issuer, or the origin of the token endpoint.
    package var shownProvider: String { earlier?.provider ?? provider }

    /// This registration, or, if it is in the earlier form of the one that its account's type has, that one.
    ///
    /// - Parameter type: gives the registration of the account's type.
    func current(ofType type: () -> ClientIdentity?) -> ClientIdentity {
        guard RegistrationText.mayBeEarlier(provider), let own = type(), own.earlier == self else { return self }
        return own
    }
}
