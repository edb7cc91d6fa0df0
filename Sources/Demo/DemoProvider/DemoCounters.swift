package import StrictJSON

/// The counts of the requests to the provider, and of the events that it noticed.
package struct DemoCounters: Sendable, Equatable {
    /// Token requests, failed ones included.
    package var tokenRequests: Int64 = 0
    /// Token requests by `grant_type`, failed ones included; unknown types count as `other`.
    package var grants: [String: Int64] = [:]
    /// Refreshes that succeeded.
    package var refreshes: Int64 = 0
    /// Refresh tokens used again after they were replaced.
    package var reusesDetected: Int64 = 0
    /// Authorization codes used again.
    package var codeReuses: Int64 = 0
    /// Requests of the authorization endpoint.
    package var authorizeRequests: Int64 = 0
    /// Discovery documents given out.
    package var discoveryRequests: Int64 = 0
    /// Key sets asked for.
    package var keyRequests: Int64 = 0
    /// Requests of the to-do API.
    package var apiRequests: Int64 = 0
    /// Requests of the to-do API that were refused for their token.
    package var apiUnauthorized: Int64 = 0
    /// Sign-outs.
    package var signOuts: Int64 = 0

    /// Nothing yet.
    package init() {}

    /// The counters as JSON, in snake case.
    package var json: JSONValue {
        var grantCounts = JSONObject()
        for (grant, count) in grants.sorted(by: { $0.key < $1.key }) { grantCounts[grant] = .integer(count) }
        return [
            "token_requests": .integer(tokenRequests),
            "grants": .object(grantCounts),
            "refreshes": .integer(refreshes),
            "reuses_detected": .integer(reusesDetected),
            "code_reuses": .integer(codeReuses),
            "authorize_requests": .integer(authorizeRequests),
            "discovery_requests": .integer(discoveryRequests),
            "key_requests": .integer(keyRequests),
            "api_requests": .integer(apiRequests),
            "api_unauthorized": .integer(apiUnauthorized),
            "sign_outs": .integer(signOuts),
        ]
    }
}
