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
    /// The scopes that the user saw; a request for others needs a new prompt.
    public var scope: [String]
    /// The time of the consent.
    public var created: Timestamp
    /// The end of the grant.
    public var until: Timestamp

    /// Makes a grant.
    public init(
        caller: CallerKey, executable: String?, entry: String, scope: [String], created: Timestamp, until: Timestamp
    ) {
        self.caller = caller
        self.executable = executable
        self.entry = entry
        self.scope = scope
        self.created = created
        self.until = until
    }

    /// Whether the grant answers a question at `now`. A grant from the future does not: the clock was set back.
    public func covers(_ question: ConsentQuestion, at now: Timestamp) -> Bool {
        caller == question.caller.key && entry == question.entry && created <= now && now < until
            && question.scope.allSatisfy(scope.contains)
    }

    /// The grant as a file keeps it and lists show it.
    public var json: JSONObject {
        var json = JSONObject()
        json["caller"] = .string(caller.description)
        json["executable"] = JSONValue(executable)
        json["entry"] = .string(entry)
        json["scope"] = JSONValue(scope)
        json["created"] = .string(created.rfc3339)
        json["until"] = .string(until.rfc3339)
        return json
    }

    /// Reads the output of ``json``; `nil` for another object.
    public init?(json: JSONObject) {
        guard let caller = json["caller"]?.string.flatMap({ CallerKey($0) }), let entry = json["entry"]?.string,
            let scope = json["scope"]?.array, case let words = scope.compactMap(\.string),
            words.count == scope.count,
            let created = json["created"]?.string.flatMap(Timestamp.init(rfc3339:)),
            let until = json["until"]?.string.flatMap(Timestamp.init(rfc3339:))
        else { return nil }
        self.init(
            caller: caller, executable: json["executable"]?.string, entry: entry, scope: words, created: created,
            until: until)
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
    /// Adds a grant, in place of one of the same caller and entry. Ended grants are removed.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func add(_ grant: ConsentGrant, to broker: String) throws(CredentialError)
    /// Removes the grants of a caller; all of the broker for `nil`.
    ///
    /// - Returns: the number of removed grants.
    /// - Throws: ``ErrorCode/inputOutput``.
    func forget(_ caller: CallerKey?, of broker: String) throws(CredentialError) -> Int
}
