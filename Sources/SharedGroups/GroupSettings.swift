import CredentialCore
import StrictJSON

/// What the hosts of a group agree on; it stands in clear beside the group's id.
package struct GroupSettings: Sendable, Hashable {
    /// How long an access token is kept before the cluster is asked again, in seconds.
    package var cacheSeconds = GroupBackend.standardCacheSeconds
    /// After how many seconds a refresh is repeated that nobody knows the end of; `nil` for never.
    package var takeOverSeconds: Int64?

    package init() {}

    init(_ object: JSONObject) {
        cacheSeconds = object["cache_ttl"]?.integer.map { max(0, $0) } ?? GroupBackend.standardCacheSeconds
        takeOverSeconds = object["take_over"]?.integer.map { max(0, $0) }
    }

    func put(into object: inout JSONObject) {
        object["cache_ttl"] = .integer(cacheSeconds)
        object["take_over"] = takeOverSeconds.map(JSONValue.integer)
    }
}

extension GroupBackend {
    /// What the hosts agree on, as this one knows it.
    var settings: GroupSettings {
        get {
            var settings = GroupSettings()
            settings.cacheSeconds = cacheSeconds
            settings.takeOverSeconds = takeOverSeconds
            return settings
        }
        set {
            cacheSeconds = newValue.cacheSeconds
            takeOverSeconds = newValue.takeOverSeconds
        }
    }
}
