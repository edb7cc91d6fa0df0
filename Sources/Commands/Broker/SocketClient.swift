import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// The broker of this sandbox, if `CREDMGR_SOCK` names one.
struct SocketClient: Sendable {
    /// The path of the socket.
    let path: String
    /// The client.
    let client: BrokerClient
    private let session: CommandSession

    /// Returns `nil` without `CREDMGR_SOCK`.
    init?(_ session: CommandSession) {
        let environment = session.context.environment, host = session.context.brokers
        guard let path = BrokerClient.path({ environment[$0] }) else { return nil }
        self.path = path
        self.session = session
        let user = environment[BrokerClient.userVariable].flatMap { $0.isEmpty ? nil : $0 }
        let seconds = session.options.timeout ?? BrokerClient.patience
        client = BrokerClient { line throws(CredentialError) in
            try host.ask(line, at: path, user: user, seconds: seconds)
        }
    }

    /// Returns a token for a query.
    ///
    /// - Throws: as ``BrokerClient/ask(_:)``.
    func token(_ query: TokenQuery, origin: String? = nil) throws(CredentialError) -> TokenOutput {
        if query.forceRefresh, query.wantsIDToken {
            // The reply to a refused token has no ID token.
            throw SocketCommands.refusal("token --id-token --force-refresh", path)
        }
        let now = session.context.clock.now
        let environment = session.context.environment
        let words = query.words(in: nil).filled { environment[$0] }
        let shown = try client.token(
            words, minValid: query.freshness.minimumValidity, wantsIDToken: query.wantsIDToken, origin: origin,
            now: now)
        guard query.forceRefresh else { return shown }
        let entry = try entries().first { $0.type == shown.accountType && $0.accountID == shown.accountID }
        return try client.replacement(of: shown.accessToken, entry: entry?.name, policy: query.policy, now: now)
    }

    /// The source of a file that is kept valid.
    var source: TokenFileRefresher.Source {
        { query, _ throws(CredentialError) in
            let shown = try token(query), now = session.context.clock.now
            let token = AccessToken(
                key: TokenRequestKey(scope: shown.scope), token: shown.accessToken, tokenType: shown.tokenType,
                issuedAt: now, expiresAt: shown.expiresAt, scope: shown.scope)
            return (TokenService.Answer(token: token, idToken: nil, refreshed: false), shown)
        }
    }

    /// An entry of the broker.
    struct Entry: Sendable {
        /// The entry's name.
        var name: String
        /// The account type.
        var type: String
        /// The account's ID; `nil` if the account is not signed in.
        var accountID: String?
        /// The name that the account signs in with.
        var username: String?
        /// The issuer of the type or the account.
        var issuer: String?
        /// The scopes.
        var scope: [String]
        /// The origins that callers may name.
        var origins: [String]
        /// The form in which callers get tokens.
        var release: String
    }

    /// The entries of the broker.
    ///
    /// - Throws: as ``BrokerClient/ask(_:)``.
    func entries() throws(CredentialError) -> [Entry] {
        (try client.ask(JSONObject(["op": "list"]))["entries"]?.array ?? []).compactMap { value in
            guard let entry = value.object, let name = entry["name"]?.string, let type = entry["type"]?.string
            else { return nil }
            let account = entry["account"]?.object
            return Entry(
                name: name, type: type, accountID: account?["id"]?.string, username: account?["username"]?.string,
                issuer: entry["issuer"]?.string, scope: (entry["scope"]?.array ?? []).compactMap(\.string),
                origins: (entry["origins"]?.array ?? []).compactMap(\.string),
                release: entry["release"]?.string ?? "")
        }
    }

    /// The options and variables that choose an entry.
    func words(_ arguments: Arguments) -> CallSignature {
        let environment = session.context.environment
        return CallSignature(
            type: arguments[ifListed: SharedOption.type], account: arguments[ifListed: SharedOption.account]
        ).filled { environment[$0] }
    }

    /// The one entry that options choose.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``.
    func entry(_ arguments: Arguments) throws(CredentialError) -> Entry {
        let words = words(arguments)
        return try entry { entry in
            (words.type.map { $0 == entry.type } ?? true)
                && (words.account.map { $0 == entry.accountID || $0 == entry.username } ?? true)
        }
    }

    /// The one entry of an issuer; a final slash does not count.
    ///
    /// - Throws: as ``entry(_:)``.
    func entry(ofIssuer issuer: String) throws(CredentialError) -> Entry {
        func plain(_ text: String) -> Substring { text.hasSuffix("/") ? text.dropLast() : text[...] }
        return try entry { $0.issuer.map(plain) == plain(issuer) }
    }

    private func entry(_ fits: (Entry) -> Bool) throws(CredentialError) -> Entry {
        let found = try entries().filter(fits)
        guard let first = found.first else {
            throw CredentialError(.noSuchAccount, "the broker at \(UntrustedText.shown(path)) has no such entry")
        }
        guard found.count == 1 else {
            throw CredentialError(
                .ambiguousAccount, "the broker at \(UntrustedText.shown(path)) has several entries",
                hint: "name an entry's type with --type", details: found.map { "\($0.name)  \($0.type)" })
        }
        return first
    }
}
