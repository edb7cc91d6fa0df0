public import CredentialCore
public import StrictJSON

/// A consent that the user asked to remember.
public struct ConsentGrant: Sendable, Equatable {
    /// The caller.
    public var caller: CallerKey
    /// The executable of the caller at the time of the prompt, for lists.
    public var executable: String?
    /// The name of the entry.
    public var entry: String
    /// The ID of the account that the user saw, or its name without an ID.
    public var account: String
    /// The account type that the user saw.
    public var type: String
    /// The origin that the user saw; `nil` for a request without an origin.
    public var origin: String?
    /// The resource of the request; `nil` for a request without a resource.
    public var resource: String?
    /// The audience of the request; `nil` for a request without an audience.
    public var audience: String?
    /// Whether the request was for the ID token, too.
    public var hasIDToken = false
    /// The scopes that the user saw; a request for others needs a new prompt.
    public var scope: [String]
    /// The time of the consent.
    public var created: Timestamp
    /// The end of the grant.
    public var until: Timestamp

    /// Makes the grant of what a question showed.
    public init(_ question: ConsentQuestion, created: Timestamp, until: Timestamp) {
        self.init(
            caller: question.caller.key, executable: question.caller.executable, entry: question.entry,
            account: question.accountID ?? question.account, type: question.type, origin: question.origin,
            scope: question.scope, created: created, until: until)
        resource = question.resource
        audience = question.audience
        hasIDToken = question.wantsIDToken
    }

    private init(
        caller: CallerKey, executable: String?, entry: String, account: String, type: String, origin: String?,
        scope: [String], created: Timestamp, until: Timestamp
    ) {
        self.caller = caller
        self.executable = executable
        self.entry = entry
        self.account = account
        self.type = type
        self.origin = origin
        self.scope = scope
        self.created = created
        self.until = until
    }

    /// Whether the grant answers a question at `now`. A grant from the future does not: the clock was set back.
    public func covers(_ question: ConsentQuestion, at now: Timestamp) -> Bool {
        var wanted = ConsentGrant(question, created: created, until: until)
        // A consent to both tokens is one to the access token.
        if hasIDToken { wanted.hasIDToken = true }
        return isBeside(wanted) && created <= now && now < until && question.scope.allSatisfy(scope.contains)
    }

    /// Whether another grant differs at most in scopes and times, so that a file keeps one of both.
    public func isBeside(_ other: ConsentGrant) -> Bool {
        caller == other.caller && entry == other.entry && account == other.account && type == other.type
            && origin == other.origin && resource == other.resource && audience == other.audience
            && hasIDToken == other.hasIDToken
    }

    /// The grant as a file keeps it and lists show it.
    public var json: JSONObject {
        var json = JSONObject()
        json["caller"] = .string(caller.description)
        json["executable"] = JSONValue(executable)
        json["entry"] = .string(entry)
        json["account"] = .string(account)
        json["type"] = .string(type)
        json["origin"] = JSONValue(origin)
        // Without them the object is the same as that of earlier versions.
        if let resource { json["resource"] = .string(resource) }
        if let audience { json["audience"] = .string(audience) }
        if hasIDToken { json["id_token"] = true }
        json["scope"] = JSONValue(scope)
        json["created"] = .string(created.rfc3339)
        json["until"] = .string(until.rfc3339)
        return json
    }

    /// Reads the output of ``json``; `nil` for another object, and for a grant that names no account.
    public init?(json: JSONObject) {
        guard let caller = json["caller"]?.string.flatMap({ CallerKey($0) }), let entry = json["entry"]?.string,
            let account = json["account"]?.string, let type = json["type"]?.string,
            let scope = json["scope"]?.array, case let words = scope.compactMap(\.string),
            words.count == scope.count,
            let created = json["created"]?.string.flatMap(Timestamp.init(rfc3339:)),
            let until = json["until"]?.string.flatMap(Timestamp.init(rfc3339:))
        else { return nil }
        self.init(
            caller: caller, executable: json["executable"]?.string, entry: entry, account: account, type: type,
            origin: json["origin"]?.string, scope: words, created: created, until: until)
        resource = json["resource"]?.string
        audience = json["audience"]?.string
        hasIDToken = json["id_token"] == true
    }
}

/// Keeps the grants of brokers, sealed.
public protocol ConsentGrants: Sendable {
    /// The names of the brokers with grants, sorted.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func brokers() throws(CredentialError) -> [String]
    /// The grants of a broker, ended ones included.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/storeDamaged`` for a file that this machine did not seal.
    func grants(of broker: String) throws(CredentialError) -> [ConsentGrant]
    /// Adds a grant, in place of one that differs at most in scopes and times. Ended grants are removed.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func add(_ grant: ConsentGrant, to broker: String) throws(CredentialError)
    /// Removes the grants of a caller; all of the broker for `nil`.
    ///
    /// - Returns: the number of removed grants.
    /// - Throws: ``ErrorCode/inputOutput``.
    func forget(_ caller: CallerKey?, of broker: String) throws(CredentialError) -> Int
}
