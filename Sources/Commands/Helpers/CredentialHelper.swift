import CredentialCore
import FastToken
import StrictJSON

/// The steps that all helpers for other programs share: from the server that a program asks about to the account
/// whose token it may have. The ``TokenDestinationPolicy`` decides; here is the order in which accounts are
/// considered.
struct CredentialHelper: Sendable {
    /// The request of a program.
    struct Query: Sendable {
        /// The server.
        var destination: Destination
        /// The user name it asks for; `nil` if it does not give one. An empty one counts as absent:
        /// `https://@host/` has such.
        let username: String?

        init(destination: Destination, username: String? = nil) {
            self.destination = destination
            self.username = username?.isEmpty == true ? nil : username
        }
    }

    /// The result of the search for an account.
    enum Match: Sendable {
        /// The account whose token goes there.
        case account(Target)
        /// No token is given, and the reason.
        case nothing(TokenDestinationPolicy.Refusal)
    }

    private let session: CommandSession
    private let resolver: TargetResolver
    /// The broker's socket, which gives the tokens if it is set.
    private let socket: SocketClient?

    init(_ session: CommandSession) {
        self.session = session
        resolver = TargetResolver(session)
        socket = SocketClient(session)
    }

    /// The account for a program's query; `nil` if no token of this user is for it, and `-v` reports the reason.
    ///
    /// - Throws: ``ErrorCode/ambiguousAccount`` if several types or accounts fit; ``ErrorCode/noSuchAccount`` if a
    ///   type fits and no user has signed in; ``ErrorCode/configuration``.
    func target(_ query: Query, _ options: TargetOptions) throws(CredentialError) -> Target? {
        switch try find(query, options) {
        case .account(let target): return target
        case .nothing(let refusal):
            session.notices.detail("nothing is given: \(refusal.text)")
            if let hint = refusal.advice { session.notices.detail(hint.description) }
            return nil
        }
    }

    /// The account for a program's query, or the reason for its absence.
    ///
    /// - Throws: as ``target(_:_:)``.
    func find(_ query: Query, _ options: TargetOptions) throws(CredentialError) -> Match {
        let finding = try choose(query, options)
        if case .nothing = finding {
            for miss in resolver.authority.nearMisses(of: query.destination) { session.notices.warning(miss) }
        }
        return finding
    }

    /// Explains an empty answer to an invalid destination: a protocol without a host, or a host that is not valid.
    func noDestination(_ text: String) {
        session.notices.detail("nothing is given: \(UntrustedText.shown(text, limit: 200)) is no server for tokens")
    }

    /// The user name to go beside the token: the requested one, else that of a rule.
    func username(_ query: Query, _ target: Target) -> String? {
        query.username ?? resolver.authority.username(beside: target.type, at: query.destination)
    }

    /// The user name to go beside the token: the requested one, else that of a rule, else `usual`.
    func username(_ query: Query, _ target: Target, usual: String) -> String { username(query, target) ?? usual }

    /// A token for a program's query; `nil` if no token is given.
    ///
    /// - Throws: as ``target(_:_:)``, and the errors of getting a token.
    func credential(_ query: Query, _ options: TargetOptions) throws(CredentialError) -> HelperCredential? {
        if let socket { return try credential(query, options, from: socket) }
        guard let target = try target(query, options) else { return nil }
        let answer = try TokenAcquirer(session).token(TokenQuery(), target)
        TokenAcquirer(session).tell(answer)
        return HelperCredential(
            target: target, shown: try TokenOutput(answer, target),
            ruleUsername: resolver.authority.username(beside: target.type, at: query.destination),
            wantedUsername: query.username)
    }

    /// A token of a broker, whose host checks the server and chooses the entry; `nil` if no token is given.
    ///
    /// - Throws: the errors of ``BrokerClient``.
    private func credential(
        _ query: Query, _ options: TargetOptions, from socket: SocketClient
    ) throws(CredentialError) -> HelperCredential? {
        let environment = session.context.environment
        var input = JSONObject([
            "protocol": .string(query.destination.scheme), "host": .string(query.destination.authority),
            "path": .string(query.destination.path),
            // Without a rule's name the reply has an empty one.
            "default_username": "",
        ])
        if let name = query.username { input["username"] = .string(name) }
        let output: JSONObject
        do throws(CredentialError) {
            let words = CallSignature(type: options.type, account: options.account).filled { environment[$0] }
            output = try socket.client.helper("git", input: input, entry: try socket.client.entry(words))
        } catch {
            guard error.isOriginRefused else { throw error }
            session.notices.detail("nothing is given: \(error.message)")
            return nil
        }
        guard let token = output["password"]?.string, let username = output["username"]?.string else {
            throw CredentialError(.malformedReply, "the broker's reply is not one of its language")
        }
        let end = output["password_expiry_utc"]?.string.flatMap { Int64($0) }.map { Timestamp(epochSeconds: $0) }
        let shown = TokenOutput(
            accessToken: Secret(token), tokenType: "Bearer",
            expiresAt: end ?? session.context.clock.now.adding(AccessToken.longestLifetime), scope: [], policy: nil,
            accountID: "", accountType: "", username: nil, refreshed: false)
        return HelperCredential(
            target: nil, shown: shown, ruleUsername: query.username == nil && !username.isEmpty ? username : nil,
            wantedUsername: query.username)
    }

    /// A token for the URL or host that a program names; `nil` if no token is given.
    ///
    /// - Throws: as ``credential(_:_:)``.
    func credential(
        at place: String, username: String? = nil, _ options: TargetOptions
    ) throws(CredentialError) -> HelperCredential? {
        guard
            let destination = URI(place.contains("://") ? place : "https://" + place)
                .flatMap(Destination.init)
        else {
            noDestination(place)
            return nil
        }
        return try credential(Query(destination: destination, username: username), options)
    }

    /// The path below which all of a server gets the same answer as an address got. It is empty for the whole
    /// origin, else that of a rule, at last the address's own; it has no slash at its end.
    ///
    /// Below it no rule may be for something else than the address: another program's cache does not know about
    /// rules.
    func widestPath(of address: URI, _ found: HelperCredential, _ options: TargetOptions) -> String {
        let parts = address.pathComponents, whole = parts.map { "/" + $0 }.joined()
        guard let asked = Destination(address) else { return address.path }
        // Only the host of a broker knows the rules.
        guard let own = found.target else { return whole }
        for count in 0..<parts.count {
            let path = parts.prefix(count).map { "/" + $0 }.joined()
            guard let wider = Destination(address.replacing(path: path)),
                resolver.authority.hasSameRules(below: wider, as: asked),
                case .account(let target)? = try? choose(Query(destination: wider), options),
                target.account.id == own.account.id, target.type.name == own.type.name,
                resolver.authority.username(beside: target.type, at: wider) == found.ruleUsername
            else { continue }
            return path
        }
        return whole
    }

    private func choose(_ query: Query, _ options: TargetOptions) throws(CredentialError) -> Match {
        let authority = resolver.authority
        if let refusal = authority.refusalOfTravel(to: query.destination) { return .nothing(refusal) }
        var options = options
        options.destination = query.destination
        guard let name = query.username, !authority.isNobody(name, at: query.destination) else {
            return try choose(query.destination, options, authority)
        }
        let refusal = TokenDestinationPolicy.Refusal(
            "requested user \(UntrustedText.shown(name, limit: 80)) is not an account for \(query.destination)")
        if options.account == nil { options.account = name }
        do throws(CredentialError) {
            let finding = try choose(query.destination, options, authority)
            if case .account(let target) = finding,
                !AccountSelection.fits(name, target.account)
            {
                return .nothing(refusal)
            }
            return finding
        } catch  where error.code == .noSuchAccount {
            return .nothing(refusal)
        }
    }

    /// The type named, else that of the first rule whose type is for the server, else the one whose API is there.
    private func choose(
        _ destination: Destination, _ options: TargetOptions, _ authority: TokenDestinationPolicy
    ) throws(CredentialError) -> Match {
        if let name = try resolver.namedType(options) {
            return try ruled(
                try resolver.target(ofType: try resolver.type(named: name), options), destination, authority)
        }
        for rule in resolver.rules(options) {
            guard let name = rule.type else {
                if rule.place == nil { continue }
                return try ruled(try resolver.target(options, rule), destination, authority)
            }
            let type = try resolver.type(named: name)
            // A rule for the folder alone may be about another server.
            guard rule.place != nil || TokenDestinationPolicy.isAPI(of: type, destination) else { continue }
            return try ruled(try resolver.target(ofType: type, options), destination, authority)
        }
        guard let type = try typeWithAPI(at: destination, authority) else {
            return .nothing(authority.refusal(of: nil, destination))
        }
        return try ruled(try resolver.target(ofType: type, options), destination, authority)
    }

    /// - Throws: ``ErrorCode/denied`` if the definition that names the destination is not confirmed.
    private func ruled(
        _ target: Target, _ destination: Destination, _ authority: TokenDestinationPolicy
    ) throws(CredentialError) -> Match {
        switch authority.ruling(on: destination, type: target.type, account: target.account) {
        case .granted: return .account(target)
        case .refused(let refusal) where refusal.isOfTrust:
            throw CredentialError(.denied, refusal.text, hint: refusal.advice)
        case .refused(let refusal): return .nothing(refusal)
        }
    }

    /// The one type whose API is there.
    private func typeWithAPI(
        at destination: Destination, _ authority: TokenDestinationPolicy
    ) throws(CredentialError) -> AccountType? {
        var found: [AccountType] = []
        for entry in try session.catalog.entries() {
            // The commands that name an unusable definition report it.
            guard case .success(let type) = entry.type, TokenDestinationPolicy.isAPI(of: type, destination) else {
                continue
            }
            found.append(try resolver.type(named: type.name))
        }
        guard found.count > 1 else { return found.first }
        throw CredentialError(
            .ambiguousAccount,
            "several account types match \(destination): \(found.map(\.name).joined(separator: ", "))",
            hint: authority.refusal(of: found[0].name, destination).advice)
    }
}

/// A token as it is handed to another program.
struct HelperCredential: Sendable {
    /// The target that the token belongs to; `nil` for a token of a broker.
    let target: Target?
    /// The token.
    let shown: TokenOutput
    fileprivate let ruleUsername: String?
    fileprivate let wantedUsername: String?

    /// The user name to go beside the token: the requested one, else that of a rule, else `usual`.
    func username(usual: String) -> String { wantedUsername ?? ruleUsername ?? usual }

    /// The value of `Authorization`: the token as bearer, or, if a rule names a user beside it, as password (RFC
    /// 7617).
    ///
    /// - Throws: ``ErrorCode/malformedReply`` for a token that fits no header field.
    func authorization() throws(CredentialError) -> String {
        guard let ruleUsername else {
            return String(decoding: try shown.bytes(as: .bearer).dropLast(), as: UTF8.self)
        }
        return "Basic " + Base64URL.encodeOrdinary(Array("\(ruleUsername):\(try shown.checkedToken())".utf8))
    }
}
