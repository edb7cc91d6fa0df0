/// The one authority that decides the destinations of a token.
///
/// A token of an account goes to a server only if its type's `api_base` or `api_origins` name that origin, or a
/// rule of `config.json` names host and port. Every part that hands a token out asks here: `request`, and the
/// helpers of other programs.
package struct TokenDestinationPolicy: Sendable {
    private let rules: [SelectionRule]
    private let directs: Directing

    /// Whether a definition may name the destinations of an account's tokens
    /// (``DefinitionTrust/mayDirect(_:by:)``).
    package typealias Directing = @Sendable (Account, AccountType, Destination) -> Bool

    /// User names that mean no user: programs put them beside a token because a name is required.
    private static let nobodies: Set<String> = [
        "oauth2", "__token__", "oauth2accesstoken", "x-access-token", "x-token-auth", "git",
    ]

    /// Makes an authority.
    ///
    /// - Parameters:
    ///   - rules: those that fit the folder the command was called in, in their order.
    ///   - directs: whether a definition may say that tokens of an account go to a destination.
    package init(rules: [SelectionRule], directs: @escaping Directing) {
        self.rules = rules
        self.directs = directs
    }

    /// Makes an authority that asks which definitions of a machine are confirmed.
    package init(rules: [SelectionRule], on machine: MachinePorts) {
        self.init(rules: rules) {
            [trust = machine.trust, definition = machine.definition] account, type, destination in
            if trust.mayDirect(account, by: type.name) { return true }
            // The account's own definition may name the same place.
            guard account.type != type.name, let own = definition(account.type) else { return false }
            return Self.isAPI(of: own, destination) && trust.mayDirect(account, by: own.name)
        }
    }

    /// The decision about a token and a destination.
    package enum Ruling: Sendable, Equatable {
        /// The token may go there.
        case granted
        /// It may not, and why.
        case refused(Refusal)
    }

    /// Why a token may not go somewhere.
    package struct Refusal: Sendable, Equatable {
        /// The reason.
        package let text: LocalizedMessage
        /// The action that would change it.
        package let advice: LocalizedMessage?
        /// Whether the definition that names the destination waits for the user's confirmation.
        package let isOfTrust: Bool

        /// Makes a refusal.
        package init(_ text: LocalizedMessage, hint: LocalizedMessage? = nil, isOfTrust: Bool = false) {
            self.text = text
            advice = hint
            self.isOfTrust = isOfTrust
        }
    }

    /// Whether the token of `account` may go to `destination`.
    ///
    /// - Parameters:
    ///   - type: the type it is asked for under.
    ///   - service: the service that is asked for by name; its own servers need no rule.
    package func ruling(
        on destination: Destination, type: AccountType, account: Account, for service: KnownService? = nil
    ) -> Ruling {
        if let refusal = refusalOfTravel(to: destination) { return .refused(refusal) }
        if service?.isAt(destination) == true { return .granted }
        let isNamed = rules(for: destination).contains { rule in
            // A rule without a type means its account's own.
            if (rule.type ?? account.type) != type.name { return false }
            guard let name = rule.account else { return true }
            return AccountSelection.fits(name, account)
        }
        if isNamed { return .granted }
        guard Self.isAPI(of: type, destination) else { return .refused(refusal(of: type.name, destination)) }
        return directs(account, type, destination)
            ? .granted : .refused(DefinitionTrust.refusal(account, by: type.name, destination.description))
    }

    /// Whether no token at all travels to `destination`, and why.
    package func refusalOfTravel(to destination: Destination) -> Refusal? {
        destination.isProtected
            ? nil : Refusal("a token is not sent over plain http to \(destination.host)")
    }

    /// Whether `destination` is an API of the type: one of `api_base` and `api_origins`, unless it is one that an
    /// old definition names by mistake.
    package static func isAPI(of type: AccountType, _ destination: Destination) -> Bool {
        ([type.strayKeys[.apiBase] == nil ? type.apiBase : nil] + type.apiOrigins).contains { text in
            text.flatMap(URI.init).flatMap(Destination.init)?.isSameOrigin(as: destination) == true
        }
    }

    /// The rules that name `destination`, in their order.
    package func rules(for destination: Destination) -> [SelectionRule] {
        rules.filter { $0.place?.match(destination) == .yes }
    }

    /// Whether the same rules apply to every path below `wider` as to `destination`, which is one of them.
    package func hasSameRules(below wider: Destination, as destination: Destination) -> Bool {
        !rules.contains { rule in
            guard let place = rule.place, place.match(destination) == .otherPath else { return false }
            return place.isBelow(wider)
        }
    }

    /// Returns the messages about the rules that name the host of `destination` and another port or path.
    package func nearMisses(of destination: Destination) -> [LocalizedMessage] {
        rules.compactMap { rule in
            guard let place = rule.place else { return nil }
            switch place.match(destination) {
            case .no, .yes: return nil
            case .otherPort:
                return "the rule for \(place) in config.json does not match port \(destination.port): "
                    + #"write "host": "\#(destination.authority)" for that port"#
            case .otherPath:
                return
                    "the rule for \(place) in config.json does not match the path "
                    + "\(UntrustedText.shown(destination.path))"
            }
        }
    }

    /// The refusal of a token of type `name`, or of any token if no type names the destination.
    package func refusal(of name: String?, _ destination: Destination) -> Refusal {
        let line = #""rules": [{"host": "\#(destination.authority)", "type": "\#(name ?? "TYPE")"}]"#
        return Refusal(
            name.map {
                "account type \($0) is not for \(destination): api_base, api_origins and rules do not name it"
            } ?? "no account type has \(destination) in api_base or api_origins, and no rule matches",
            hint: "to allow the destination, add to config.json: \(line)")
    }

    /// Whether the user name that a program asks for means no user, so that any account will do.
    package func isNobody(_ username: String, at destination: Destination) -> Bool {
        Self.nobodies.contains(username) || rules(for: destination).contains { $0.username == username }
    }

    /// The user name that a rule gives beside a token of `type`.
    package func username(beside type: AccountType, at destination: Destination) -> String? {
        rules(for: destination).first { ($0.type ?? type.name) == type.name && $0.username != nil }?.username
    }

    /// The places that rules name, each with the user name to go beside the token, in order and each once.
    package var places: [(place: DestinationPattern, username: String?)] {
        var seen: Set<DestinationPattern> = []
        return rules.compactMap { rule in
            guard let place = rule.place, seen.insert(place).inserted else { return nil }
            return (place, rule.username)
        }
    }
}
