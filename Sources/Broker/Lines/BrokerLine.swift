public import CredentialCore
public import StrictJSON

/// A request in the language of credmgr lines.
public enum BrokerLine: Sendable, Equatable {
    /// Asks for the server's facts.
    case hello
    /// Asks for the entries.
    case list
    /// Asks for a token.
    case token(TokenAsk)
    /// Reports a token that the API refused.
    case refused(entry: String?, token: Secret)
    /// Asks for a DPoP proof.
    case sign(entry: String?, method: String, url: String, nonce: String?)
    /// Asks as a helper for another program.
    case helper(BrokerHelper, entry: String?, input: JSONObject)
    /// The relay's first line. It has no reply.
    case via(secret: Secret)

    /// The largest line, in bytes, without its newline.
    public static let limit = 65_536

    /// Reads a line without its newline.
    ///
    /// - Throws: `malformed` or `version`.
    public static func read(_ line: [UInt8]) throws(BrokerFailure) -> BrokerLine {
        guard line.count <= limit else { throw BrokerFailure(.malformed) }
        let value: JSONValue
        do { value = try JSONValue.parse(line) } catch { throw BrokerFailure(.malformed) }
        guard let object = value.object else { throw BrokerFailure(.malformed) }
        return try Members(object).line()
    }

    /// Typed access to a line's members.
    private struct Members {
        let object: JSONObject

        init(_ object: JSONObject) { self.object = object }

        func line() throws(BrokerFailure) -> BrokerLine {
            if let version = object["v"] {
                guard let number = version.integer else { throw BrokerFailure(.malformed) }
                if number != 1 { throw BrokerFailure(.version) }
            }
            guard let op = try text("op") else { throw BrokerFailure(.malformed) }
            switch op {
            case "hello":
                try known([])
                return .hello
            case "list":
                try known([])
                return .list
            case "token": return .token(try ask())
            case "refused":
                try known(["entry", "access_token"])
                return .refused(entry: try text("entry"), token: Secret(try needed("access_token")))
            case "sign":
                try known(["entry", "method", "url", "nonce"])
                return .sign(
                    entry: try text("entry"), method: try needed("method"), url: try needed("url"),
                    nonce: try text("nonce"))
            case "via":
                try known(["secret"])
                return .via(secret: Secret(try needed("secret")))
            default:
                guard let helper = BrokerHelper(rawValue: op) else { throw BrokerFailure(.malformed) }
                try known(["entry", "input"])
                guard let input = object["input"]?.object else { throw BrokerFailure(.malformed) }
                return .helper(helper, entry: try text("entry"), input: input)
            }
        }

        private func ask() throws(BrokerFailure) -> TokenAsk {
            try known([
                "entry", "type", "account", "policy", "scope", "resource", "audience", "min_valid", "origin", "why",
                "id_token",
            ])
            var ask = TokenAsk(entry: try text("entry"), type: try text("type"))
            ask.account = try text("account")
            ask.policy = try text("policy")
            ask.resource = try text("resource")
            ask.audience = try text("audience")
            ask.origin = try text("origin")
            ask.why = try text("why")
            if let value = object["scope"] {
                guard let words = value.array?.compactMap(\.string), words.count == value.array?.count,
                    !words.isEmpty, words.allSatisfy({ DefinitionValidation.scopeToken($0) == nil && !$0.isEmpty })
                else { throw BrokerFailure(.malformed) }
                ask.scope = words
            }
            if let value = object["min_valid"] {
                guard case .integer(let seconds) = value, (0...86_400).contains(seconds) else {
                    throw BrokerFailure(.malformed)
                }
                ask.minValid = Int(seconds)
            }
            if let value = object["id_token"] {
                guard value == .bool(true) else { throw BrokerFailure(.malformed) }
                ask.wantsIDToken = true
            }
            return ask
        }

        private func known(_ names: [String]) throws(BrokerFailure) {
            guard object.keys.allSatisfy({ $0 == "op" || $0 == "v" || names.contains($0) }) else {
                throw BrokerFailure(.malformed)
            }
        }

        private func text(_ name: String) throws(BrokerFailure) -> String? {
            guard let value = object[name] else { return nil }
            guard let text = value.string, !text.isEmpty else { throw BrokerFailure(.malformed) }
            return text
        }

        private func needed(_ name: String) throws(BrokerFailure) -> String {
            guard let text = try text(name) else { throw BrokerFailure(.malformed) }
            return text
        }
    }
}

extension BrokerFailure {
    /// The reply in the language of credmgr lines.
    public var json: JSONObject {
        JSONObject([
            "ok": false, "error": .string(error.rawValue), "reason": JSONValue(reason),
            "exit": .integer(Int64(error.exitStatus)), "retry_after": JSONValue(retryAfter.map(Int64.init)),
        ])
    }
}

extension ReleasedToken {
    /// The reply in the language of credmgr lines.
    public var json: JSONObject {
        var object = JSONObject([
            "ok": true, "access_token": .string(accessToken.reveal()), "token_type": .string(tokenType),
            "expires_on": JSONValue(expiresOn), "scope": .string(scope.joined(separator: " ")),
            "account": [
                "id": .string(accountID), "type": .string(accountType), "username": JSONValue(username),
            ],
            "origins": JSONValue(origins),
        ])
        if let idToken { object["id_token"] = .string(idToken.reveal()) }
        return object
    }
}
