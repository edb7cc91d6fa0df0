public import StrictJSON

extension Account {
    /// The account as the registry and the token set keep it; times are seconds since the epoch.
    public var json: JSONObject {
        var json = JSONObject()
        json["id"] = .string(id)
        json["type"] = .string(type)
        json["adapter"] = .string(adapter)
        json["provider"] = .string(registration.provider)
        json["client_id"] = .string(registration.clientID)
        json["issuer"] = issuer.map(JSONValue.string)
        json["subject"] = .string(subject)
        json["username"] = username.map(JSONValue.string)
        json["name"] = displayName.map(JSONValue.string)
        if let previousNames {
            var named = JSONObject()
            named["username"] = previousNames.username.map(JSONValue.string)
            named["name"] = previousNames.displayName.map(JSONValue.string)
            json["former_names"] = .object(named)
        }
        if let formerRegistration {
            json["former_registration"] = .object(
                JSONObject([
                    "provider": .string(formerRegistration.provider),
                    "client_id": .string(formerRegistration.clientID),
                ]))
        }
        json["label"] = label.map(JSONValue.string)
        json["store"] = .string(store.rawValue)
        json["leftover"] = staleKeyringCopy.map { .string($0.rawValue) }
        json["chosen_at"] = madeDefaultAt.map { .integer($0.epochSeconds) }
        switch status {
        case .active: json["status"] = "active"
        case .needsLogin(let reason):
            json["status"] = "needs-login"
            json["status_reason"] = .string(reason)
        }
        json["policies"] = JSONValue(policies)
        if !flows.isEmpty {
            var named = JSONObject()
            for (policy, flow) in flows.sorted(by: { $0.key < $1.key }) { named[policy] = .string(flow.rawValue) }
            json["flows"] = .object(named)
        }
        json["scope"] = JSONValue(scope)
        json["expires_at"] = expiresAt.map { .integer($0.epochSeconds) }
        json["refresh_expires_at"] = refreshExpiresAt.map { .integer($0.epochSeconds) }
        if endsWithToken { json["ends_with_token"] = true }
        json["told_ending"] = lastExpiryNotice.map { .integer($0.rawValue) }
        json["tokens"] = tokenTimes.map { .array($0.map(\.json)) }
        if !tokenDigests.isEmpty { json["token_digests"] = JSONValue(tokenDigests) }
        json["created_at"] = .integer(createdAt.epochSeconds)
        json["updated_at"] = .integer(updatedAt.epochSeconds)
        return json
    }

    /// Reads the output of ``json``; members it does not know are passed over.
    ///
    /// - Throws: ``ErrorCode/storeDamaged`` naming the member that is missing or of the wrong kind.
    public init(json: JSONObject) throws(CredentialError) {
        let reader = RecordReader(json, of: "account")
        let id = try reader.string("id")
        // The id names files.
        guard Identifier.isValid(id) else { throw reader.damage("id") }
        guard let store = StoreKind(rawValue: try reader.string("store")) else { throw reader.damage("store") }
        self.init(
            id: id, type: try reader.string("type"), adapter: try reader.string("adapter"),
            registration: ClientIdentity(
                provider: try reader.string("provider"), clientID: try reader.string("client_id")),
            subject: try reader.string("subject"), store: store, now: try reader.instant("created_at"))
        issuer = try reader.optionalString("issuer")
        username = try reader.optionalString("username")
        displayName = try reader.optionalString("name")
        previousNames = json["former_names"]?.object.map {
            Names(username: $0["username"]?.string, displayName: $0["name"]?.string)
        }
        if let former = json["former_registration"]?.object, let provider = former["provider"]?.string,
            let clientID = former["client_id"]?.string
        {
            formerRegistration = ClientIdentity(provider: provider, clientID: clientID)
        }
        label = try reader.optionalString("label")
        staleKeyringCopy = try reader.optionalString("leftover").flatMap(StoreKind.init(rawValue:))
        madeDefaultAt = try reader.optionalInstant("chosen_at")
        switch try reader.string("status") {
        case "active": status = .active
        case "needs-login": status = .needsLogin(reason: try reader.optionalString("status_reason") ?? "")
        default: throw reader.damage("status")
        }
        policies = try reader.strings("policies")
        // A flow that is not known is one that no hint names.
        for (policy, flow) in json["flows"]?.object?.members ?? [] {
            flows[policy] = flow.string.flatMap(SignInFlow.init(rawValue:))
        }
        scope = try reader.strings("scope")
        expiresAt = try reader.optionalInstant("expires_at")
        refreshExpiresAt = try reader.optionalInstant("refresh_expires_at")
        endsWithToken = json["ends_with_token"] == true
        lastExpiryNotice = json["told_ending"]?.integer.flatMap(ExpiryNotice.init(rawValue:))
        // One that cannot be read is one that is not known.
        tokenTimes = json["tokens"]?.array.flatMap { values in
            let times = values.compactMap { TokenValiditySummary(json: $0) }
            return times.count == values.count ? times : nil
        }
        tokenDigests = json["token_digests"]?.array?.compactMap(\.string) ?? []
        updatedAt = try reader.instant("updated_at")
    }
}
