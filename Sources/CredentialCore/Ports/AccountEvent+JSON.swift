public import StrictJSON

extension AccountEvent {
    /// The event as `watch --json` shows it and the log keeps it.
    public var json: JSONObject {
        var json = JSONObject()
        json["event"] = .string(kind.rawValue)
        json["time"] = .string(time.rfc3339)
        json["group"] = .string(group.name)
        json["type"] = JSONValue(type)
        json["account"] = JSONValue(account)
        json["policy"] = policy.map(JSONValue.string)
        json["reason"] = reason.map(JSONValue.string)
        return json
    }

    /// Reads what ``json`` wrote.
    ///
    /// - Returns: `nil` for anything else, such as an event that only a newer version knows.
    public init?(json: JSONObject) {
        guard let kind = json["event"]?.string.flatMap(Kind.init(rawValue:)),
            let time = json["time"]?.string.flatMap(Instant.init(rfc3339:)),
            let name = json["group"]?.string, let group = try? KeychainGroup(name)
        else { return nil }
        self.init(
            kind: kind, time: time, group: group, type: json["type"]?.string, account: json["account"]?.string,
            policy: json["policy"]?.string, reason: json["reason"]?.string)
    }
}
