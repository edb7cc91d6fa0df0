package import CredentialCore
package import StrictJSON

/// The client of a broker: with `CREDMGR_SOCK`, commands use it in place of stores, configuration and cache.
package struct BrokerClient: Sendable {
    /// The variable with the path of the socket.
    package static let variable = "CREDMGR_SOCK"
    /// The variable with the number of the server's user, or `any`.
    package static let userVariable = "CREDMGR_SOCK_UID"
    /// The largest reply, in bytes.
    package static let replyLimit = 1 << 20
    /// How long a reply may take, in seconds: the user may be asked, and then a refresh may be necessary.
    package static let patience = 180

    /// Sends one line and returns the line of the reply, both without a newline.
    package typealias Exchange = @Sendable ([UInt8]) throws(CredentialError) -> [UInt8]

    private let exchange: Exchange

    /// Makes a client.
    package init(_ exchange: @escaping Exchange) { self.exchange = exchange }

    /// The path in the environment; `nil` if it is not set.
    package static func path(_ variable: (String) -> String?) -> String? {
        guard let path = variable(Self.variable), !path.isEmpty else { return nil }
        return path
    }

    /// Sends a request.
    ///
    /// - Parameter request: the members, without `v`.
    /// - Returns: the members of the reply.
    /// - Throws: the broker's error, with the exit status that the reply names; ``ErrorCode/malformedReply``.
    package func ask(_ request: JSONObject) throws(CredentialError) -> JSONObject {
        var request = request
        request["v"] = 1
        let line = try exchange(JSONValue.object(request).bytes())
        guard let reply = (try? JSONValue.parse(line))?.object, let isDone = reply["ok"]?.bool else {
            throw CredentialError(.malformedReply, "the broker's reply is not one of its language")
        }
        if isDone { return reply }
        throw Self.error(
            reply["error"]?.string ?? "failed", reason: reply["reason"]?.string,
            retryAfter: reply["retry_after"]?.integer)
    }

    /// The error for a reply that refuses.
    package static func error(_ word: String, reason: String?, retryAfter: Int64?) -> CredentialError {
        let code: ErrorCode =
            switch word {
            case "denied", "ended": .denied
            case "sign_in_required": .signInRequired
            case "locked": .storeLocked
            case "temporary", "rate": .temporary
            case "ambiguous": .ambiguousAccount
            case "malformed", "version": .usage
            default: .inputOutput
            }
        var shown = UntrustedText.shown(word, limit: 60)
        if let reason { shown += " (" + UntrustedText.shown(reason, limit: 60) + ")" }
        let hint: LocalizedMessage? =
            switch word {
            case "sign_in_required": "sign in on the host of the broker: credmgr login"
            case "locked": "unlock the store on the host of the broker"
            case "ambiguous": "name an entry's type with --type"
            case "denied", "ended": "see the brokers of the host: credmgr broker list"
            default: retryAfter.map { "try again in \($0) s" }
            }
        return CredentialError(
            code, "the broker refuses the request: \(shown)", hint: hint,
            details: reason.map { ["reason: " + UntrustedText.shown($0, limit: 60)] } ?? [])
    }

    /// Returns a token.
    ///
    /// - Parameters:
    ///   - words: the options that choose the token.
    ///   - minValid: for how many seconds the token must be valid; `nil` for the default.
    ///   - now: the time, for a token without a known end.
    /// - Throws: as ``ask(_:)``.
    package func token(
        _ words: CallSignature, minValid: Int64? = nil, wantsIDToken: Bool = false, origin: String? = nil,
        now: Timestamp
    ) throws(CredentialError) -> TokenOutput {
        var request = JSONObject()
        request["op"] = "token"
        Self.put(words.type, "type", in: &request)
        Self.put(words.account, "account", in: &request)
        Self.put(words.policy, "policy", in: &request)
        Self.put(words.resource, "resource", in: &request)
        Self.put(words.audience, "audience", in: &request)
        Self.put(origin, "origin", in: &request)
        if !words.scope.isEmpty { request["scope"] = JSONValue(words.scope) }
        if let minValid { request["min_valid"] = .integer(min(max(0, minValid), 86_400)) }
        if wantsIDToken { request["id_token"] = .bool(true) }
        return try Self.output(try ask(request), policy: words.policy, now: now)
    }

    /// Returns another token in place of one that an API has refused.
    ///
    /// - Throws: as ``ask(_:)``.
    package func replacement(
        of token: Secret, entry: String?, policy: String?, now: Timestamp
    ) throws(CredentialError) -> TokenOutput {
        var request = JSONObject()
        request["op"] = "refused"
        Self.put(entry, "entry", in: &request)
        request["access_token"] = .string(token.reveal())
        return try Self.output(try ask(request), policy: policy, now: now)
    }

    /// Returns the output of a helper for another program.
    ///
    /// - Parameter entry: the entry's name; `nil` for the one that fits.
    /// - Throws: as ``ask(_:)``.
    package func helper(
        _ name: String, input: JSONObject, entry: String?
    ) throws(CredentialError) -> JSONObject {
        var request = JSONObject()
        request["op"] = .string(name)
        Self.put(entry, "entry", in: &request)
        request["input"] = .object(input)
        guard let output = try ask(request)["output"]?.object else {
            throw CredentialError(.malformedReply, "the broker's reply is not one of its language")
        }
        return output
    }

    /// Returns the name of the entry that `--type` and `--account` mean, as helpers' requests cannot carry them;
    /// `nil` without both.
    ///
    /// - Throws: as ``ask(_:)``; ``ErrorCode/ambiguousAccount``; ``ErrorCode/denied`` for an entry that does not
    ///   exist.
    package func entry(_ words: CallSignature) throws(CredentialError) -> String? {
        if words.type == nil, words.account == nil { return nil }
        var found: [String] = []
        for value in try ask(JSONObject(["op": "list"]))["entries"]?.array ?? [] {
            guard let entry = value.object, let name = entry["name"]?.string else { continue }
            if let type = words.type, entry["type"]?.string != type { continue }
            let account = entry["account"]?.object
            if let wanted = words.account, account?["id"]?.string != wanted,
                account?["username"]?.string != wanted
            {
                continue
            }
            found.append(name)
        }
        guard let first = found.first else {
            throw Self.error("denied", reason: "not_in_broker", retryAfter: nil)
        }
        if found.count > 1 { throw Self.error("ambiguous", reason: nil, retryAfter: nil) }
        return first
    }

    private static func put(_ text: String?, _ name: String, in request: inout JSONObject) {
        if let text { request[name] = .string(text) }
    }

    private static func output(
        _ reply: JSONObject, policy: String?, now: Timestamp
    ) throws(CredentialError) -> TokenOutput {
        guard let token = reply["access_token"]?.string, let type = reply["token_type"]?.string,
            let account = reply["account"]?.object, let id = account["id"]?.string,
            let accountType = account["type"]?.string
        else { throw CredentialError(.malformedReply, "the broker's reply is not one of its language") }
        let end = reply["expires_on"]?.integer.map { Timestamp(epochSeconds: $0) }
        var scope: [String] = []
        for word in (reply["scope"]?.string ?? "").split(separator: " ") { scope.append(String(word)) }
        var output = TokenOutput(
            accessToken: Secret(token), tokenType: type, expiresAt: end ?? now.adding(AccessToken.longestLifetime),
            scope: scope, policy: policy, accountID: id, accountType: accountType,
            username: account["username"]?.string, refreshed: false)
        if let idToken = reply["id_token"]?.string {
            output.idToken = (Secret(idToken), self.end(of: idToken) ?? output.expiresAt)
        }
        return output
    }

    /// The `exp` of an ID token (OpenID Connect Core §2), which the host has validated.
    private static func end(of idToken: String) -> Timestamp? {
        let parts = idToken.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
            let end = (try? JSONValue.parse(payload))?.object?["exp"]?.integer
        else { return nil }
        return Timestamp(epochSeconds: end)
    }

    // MARK: git and kubectl

    /// Answers `git-credential get` and `erase`.
    ///
    /// - Parameters:
    ///   - message: git's attributes, of which the last value of a name applies.
    ///   - words: the options that choose the entry.
    /// - Returns: the lines for git.
    /// - Throws: as ``ask(_:)``.
    package func git(
        _ message: [(name: String, value: String)], _ words: CallSignature
    ) throws(CredentialError) -> [UInt8] {
        var input = JSONObject()
        for (name, value) in message {
            if name.utf8.suffix(2).elementsEqual("[]".utf8) {
                input[name] = value.isEmpty ? .array([]) : .array((input[name]?.array ?? []) + [.string(value)])
            } else {
                input[name] = .string(value)
            }
        }
        var text = ""
        for (name, value) in try helper("git", input: input, entry: try entry(words)).members {
            for value in value.array ?? [value] {
                guard let value = value.string, Self.isLine(name), Self.isLine(value) else {
                    throw CredentialError(.malformedReply, "the broker's reply is not one of its language")
                }
                text += name + "=" + value + "\n"
            }
        }
        return Array(text.utf8)
    }

    /// The attributes of git's message, which ends at an empty line; lines of another form are left out.
    package static func gitMembers(of message: [UInt8]) -> [(name: String, value: String)] {
        var members: [(name: String, value: String)] = []
        for line in message.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")), equals > line.startIndex,
                let name = String(validating: line[..<equals], as: UTF8.self),
                let value = String(validating: line[(equals + 1)...], as: UTF8.self)
            else { continue }
            members.append((name, value))
        }
        return members
    }

    private static func isLine(_ text: String) -> Bool {
        for byte in text.utf8 where byte < 0x20 || byte == 0x7F { return false }
        return true
    }

    /// Answers `kubernetes`.
    ///
    /// - Parameter execInfo: the value of `KUBERNETES_EXEC_INFO`.
    /// - Throws: as ``ask(_:)``; ``ErrorCode/usage`` for options that a request for a cluster cannot carry.
    package func kubernetes(
        _ words: CallSignature, execInfo: String?, wantsIDToken: Bool = false, now: Timestamp
    ) throws(CredentialError) -> [UInt8] {
        let info = execInfo.flatMap { try? JSONValue.parse($0) }?.object
        guard let info, let cluster = info["spec"]?.object?["cluster"]?.object, cluster["server"]?.string != nil
        else {
            return try token(words, wantsIDToken: wantsIDToken, now: now)
                .bytes(as: .execCredential, execInfo: execInfo)
        }
        guard words.policy == nil, words.scope.isEmpty, words.resource == nil, words.audience == nil,
            !wantsIDToken
        else {
            throw CredentialError(
                .usage, "the broker's entry alone decides the token for a cluster",
                hint: "use only --type and --account")
        }
        // The host checks that the cluster's server may have the token.
        var input = JSONObject()
        input["apiVersion"] = info["apiVersion"]
        input["spec"] = ["cluster": ["server": cluster["server"] ?? .null]]
        let output = try helper("kubernetes", input: input, entry: try entry(words))
        return JSONValue.object(output).bytes() + [UInt8(ascii: "\n")]
    }
}

extension CredentialError {
    /// Whether the broker refused the server that a helper's input names.
    package var isOriginRefused: Bool { code == .denied && details.contains("reason: origin") }
}

extension CallSignature {
    /// The words, with those of the environment for options that were not given.
    package func filled(_ variable: (String) -> String?) -> CallSignature {
        func set(_ name: String) -> String? {
            guard let value = variable(name), !value.isEmpty else { return nil }
            return value
        }
        var words = self
        words.type = type ?? set("CREDMGR_TYPE")
        words.account = account ?? set("CREDMGR_ACCOUNT")
        return words
    }
}
