package import StrictJSON

// The record in the form that a store keeps: UTF-8 JSON, version 1.
extension TokenSet {
    /// How many access tokens a record keeps at most; the oldest go first.
    static let accessTokenLimit = 32

    /// The record as it is stored.
    package func encoded() -> [UInt8] { JSONValue.object(json).bytes() }

    /// Reads a stored record.
    ///
    /// - Throws: ``ErrorCode/storeDamaged`` when it is not a record, or of a version this program does not know.
    package init(decoding bytes: [UInt8]) throws(CredentialError) {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object else {
            throw Self.damaged("it is not a JSON object")
        }
        try self.init(json: object)
    }

    /// The record as a JSON object.
    package var json: JSONObject {
        var object = JSONObject()
        object["version"] = 1
        object["generation"] = .integer(generation)
        object["journal_key"] = .string(Base64URL.encode(journalKey))
        object["account"] = .object(account.json)
        var grants = JSONObject()
        for (policy, grant) in self.grants.sorted(by: { $0.key < $1.key }) { grants[policy] = .object(grant.json) }
        object["grants"] = .object(grants)
        if !further.isEmpty {
            object["further_grants"] = .array(
                further.map { ["policy": .string($0.policy), "grant": .object($0.grant.json)] })
        }
        object["access_tokens"] = .array(accessTokens.map { .object($0.json) })
        if !userData.isEmpty { object["user_data"] = .object(userData) }
        if !self.lines.isEmpty {
            var lines = JSONObject()
            for (policy, line) in self.lines.sorted(by: { $0.key < $1.key }) {
                let host = line.host.map { [JSONValue.string($0)] } ?? []
                lines[policy] = .array([.string(Base64URL.encode(line.id)), .integer(line.step)] + host)
            }
            object["lines"] = .object(lines)
        }
        if !mergedSignIns.isEmpty { object["taken_up"] = JSONValue(mergedSignIns.map { Base64URL.encode($0) }) }
        if replacesOthers { object["replaces_others"] = true }
        return object
    }

    /// Reads a record from its JSON object.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``; ``ErrorCode/unsupported`` for one of a newer version of this program.
    package init(json object: JSONObject) throws(CredentialError) {
        guard let version = object["version"]?.integer, version > 0 else {
            throw Self.damaged("its version is not known")
        }
        guard version == 1 else {
            throw CredentialError(
                .unsupported, "a newer credmgr wrote the stored token set (version \(version))",
                hint: "upgrade credmgr")
        }
        guard let generation = object["generation"]?.integer, generation >= 0,
            let journalKey = object["journal_key"]?.string.flatMap(Base64URL.decode), journalKey.count == 32,
            let account = object["account"]?.object,
            let grants = object["grants"]?.object,
            let accessTokens = object["access_tokens"]?.array
        else { throw Self.damaged("a member is missing") }
        self.init(account: try Account(json: account), journalKey: journalKey)
        self.generation = generation
        for (policy, value) in grants.members {
            guard let object = value.object, let grant = Grant(json: object) else {
                throw Self.damaged("a grant is malformed")
            }
            self.grants[policy] = grant
        }
        for value in object["further_grants"]?.array ?? [] {
            guard let policy = value.object?["policy"]?.string,
                let grant = value.object?["grant"]?.object.flatMap(Grant.init(json:))
            else { throw Self.damaged("a grant is malformed") }
            further.append(FurtherGrant(policy: policy, grant: grant))
        }
        for value in accessTokens {
            guard let object = value.object, let token = AccessToken(json: object) else {
                throw Self.damaged("an access token is malformed")
            }
            self.accessTokens.append(token)
        }
        userData = object["user_data"]?.object ?? JSONObject()
        mergedSignIns = (object["taken_up"]?.array ?? []).compactMap { $0.string.flatMap(Base64URL.decode) }
        replacesOthers = object["replaces_others"] == true
        for (policy, value) in object["lines"]?.object?.members ?? [] {
            guard let parts = value.array, (2...3).contains(parts.count),
                let id = parts[0].string.flatMap(Base64URL.decode),
                let step = parts[1].integer
            else { throw Self.damaged("a line of grants is malformed") }
            let host = parts.count > 2 ? parts[2].string : nil
            lines[policy] = TokenFamily(id: id, step: step, host: host)
        }
    }

    private static func damaged(_ reason: LocalizedMessage) -> CredentialError {
        CredentialError(.storeDamaged, "the stored token set cannot be used: \(reason)", hint: "credmgr doctor")
    }

    /// The token for `key`, if the record has one: asked for by it, or granted exactly its scopes.
    package func accessToken(for key: TokenRequestKey) -> AccessToken? {
        if let token = accessTokens.last(where: { $0.key == key }) { return token }
        return accessTokens.last { token in
            guard token.scope.count == key.scope.count, token.scope.sorted() == key.scope else { return false }
            var granted = token.key
            granted.scope = key.scope
            return granted == key
        }
    }

    /// Puts a token in the place of the one with the same key, and drops the tokens that have ended by `now`.
    package mutating func keep(_ token: AccessToken, now: Timestamp) {
        accessTokens.removeAll { $0.key == token.key || $0.expiresAt <= now }
        accessTokens.append(token)
        accessTokens.removeFirst(max(0, accessTokens.count - Self.accessTokenLimit))
    }
}

extension Grant {
    var json: JSONObject {
        var object = JSONObject()
        object["id"] = id.map(JSONValue.string)
        if rotation > 0 { object["rotation"] = .integer(rotation) }
        object["flow"] = .string(flow.rawValue)
        object["refresh_token"] = refreshToken.map { .string($0.reveal()) }
        if let pending {
            var kept = JSONObject()
            kept["refresh_token"] = .string(pending.token.reveal())
            if pending.isQuarantined { kept["quarantined"] = true }
            object["pending"] = .object(kept)
        }
        object["rotates"] = rotates.map(JSONValue.bool)
        if awaitsIDToken { object["awaits_id_token"] = true }
        object["refresh_expires_at"] = refreshExpiresAt.map { .integer($0.epochSeconds) }
        object["id_token"] = idToken.map { .string($0.reveal()) }
        object["scope"] = JSONValue(scope)
        object["obtained_at"] = .integer(obtainedAt.epochSeconds)
        if signedInAt != obtainedAt { object["signed_in_at"] = .integer(signedInAt.epochSeconds) }
        object["lost_reason"] = lostReason.map(JSONValue.string)
        if isDoubtful { object["lost_in_doubt"] = true }
        if !adapterState.isEmpty { object["adapter_state"] = .object(adapterState) }
        return object
    }

    init?(json object: JSONObject) {
        guard let flow = object["flow"]?.string.flatMap(SignInFlow.init(rawValue:)),
            let obtainedAt = object["obtained_at"]?.integer
        else { return nil }
        self.init(flow: flow, obtainedAt: Timestamp(epochSeconds: obtainedAt))
        id = object["id"]?.string
        rotation = object["rotation"]?.integer ?? 0
        signedInAt = object["signed_in_at"]?.integer.map(Timestamp.init) ?? self.obtainedAt
        refreshToken = object["refresh_token"]?.string.map(Secret.init)
        if let kept = object["pending"]?.object {
            guard let token = kept["refresh_token"]?.string else { return nil }
            pending = PendingToken(token: Secret(token), isQuarantined: kept["quarantined"] == true)
        }
        rotates = object["rotates"]?.bool
        awaitsIDToken = object["awaits_id_token"] == true
        refreshExpiresAt = object["refresh_expires_at"]?.integer.map(Timestamp.init)
        idToken = object["id_token"]?.string.map(Secret.init)
        scope = object["scope"]?.array?.compactMap(\.string) ?? []
        lostReason = object["lost_reason"]?.string
        isDoubtful = object["lost_in_doubt"] == true
        adapterState = object["adapter_state"]?.object ?? JSONObject()
    }
}

extension AccessToken {
    /// The token as a JSON object, for a store, the cache or a pipe.
    package var json: JSONObject {
        var object = key.json
        object["token"] = .string(token.reveal())
        object["token_type"] = .string(tokenType)
        object["issued_at"] = .integer(issuedAt.epochSeconds)
        object["expires_at"] = .integer(expiresAt.epochSeconds)
        object["granted_scope"] = JSONValue(scope)
        if isEndGuessed { object["end_guessed"] = true }
        return object
    }

    /// Reads a token; `nil` when the object is not a token.
    package init?(json object: JSONObject) {
        guard let key = TokenRequestKey(json: object), let token = object["token"]?.string, !token.isEmpty,
            let tokenType = object["token_type"]?.string,
            let issuedAt = object["issued_at"]?.integer, let expiresAt = object["expires_at"]?.integer
        else { return nil }
        self.init(
            key: key, token: Secret(token), tokenType: tokenType, issuedAt: Timestamp(epochSeconds: issuedAt),
            expiresAt: Timestamp(epochSeconds: expiresAt),
            scope: object["granted_scope"]?.array?.compactMap(\.string) ?? [])
        isEndGuessed = object["end_guessed"] == true
    }
}
