package import StrictJSON

extension TokenRequestKey {
    /// The key as a JSON object, members in a fixed order.
    package var json: JSONObject {
        var object = JSONObject()
        if !policy.isEmpty { object["policy"] = .string(policy) }
        object["scope"] = JSONValue(scope)
        object["resource"] = resource.map(JSONValue.string)
        object["audience"] = audience.map(JSONValue.string)
        if !parameters.isEmpty {
            var members = JSONObject()
            for (name, value) in parameters.sorted(by: { $0.key < $1.key }) { members[name] = .string(value) }
            object["parameters"] = .object(members)
        }
        if bearer != .accessToken { object["bearer"] = .string(bearer.rawValue) }
        return object
    }

    /// Reads a key; `nil` when the object is not a key.
    package init?(json object: JSONObject) {
        guard let scope = object["scope"]?.array?.compactMap({ $0.string }) else { return nil }
        var parameters: [String: String] = [:]
        if let members = object["parameters"]?.object?.members {
            for (name, value) in members { parameters[name] = value.string }
        }
        guard let bearer = BearerKind(rawValue: object["bearer"]?.string ?? "access_token") else {
            return nil
        }
        self.init(
            policy: object["policy"]?.string ?? "", scope: scope, resource: object["resource"]?.string,
            audience: object["audience"]?.string, parameters: parameters, bearer: bearer)
    }
}
