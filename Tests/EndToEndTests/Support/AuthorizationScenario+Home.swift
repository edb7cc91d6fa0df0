import CredentialCore
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// A request that a scenario's servers have received.
struct ReceivedRequest {
    /// Which server: `rs`, `as1` or `as2`.
    let server: String
    let method: String
    let path: String
    let query: [String: String]
    let form: [String: String]
    let json: JSONObject
    let authorization: String?
    let proof: String?

    init(_ entry: JSONObject) {
        func map(_ name: String) -> [String: String] {
            var map: [String: String] = [:]
            for (name, value) in entry[name]?.object?.members ?? [] { map[name] = value.string }
            return map
        }
        server = entry["server"]?.string ?? ""
        method = entry["method"]?.string ?? ""
        path = entry["path"]?.string ?? ""
        query = map("query")
        form = map("form")
        json = entry["json"]?.object ?? JSONObject()
        authorization = entry["authorization"]?.string
        proof = entry["dpop"]?.string
    }
}

extension AuthorizationScenario {
    /// The requests so far.
    var log: [ReceivedRequest] {
        get throws {
            let reply = try LoopbackClient().send("GET", control + "/__log")
            return (try JSONValue.parse(reply.body).array ?? []).compactMap(\.object).map(ReceivedRequest.init)
        }
    }

    /// The requests to a path so far.
    func requests(to path: String, at server: String? = nil) throws -> [ReceivedRequest] {
        try log.filter { $0.path == path && (server == nil || $0.server == server) }
    }

    /// From now on the resource names the second authorization server.
    func move() throws { _ = try LoopbackClient().send("POST", control + "/__move") }

    /// The URL at which a browser ends that opens an authorization URL.
    func redirect(from url: String) throws -> String {
        if let certificates, url.hasPrefix("https:") {
            let words = [
                "-sS", "--noproxy", "*", "--cacert", certificates + "/ca.pem", "-w", "%{redirect_url}", url,
            ]
            return try ChildProcess("/usr/bin/curl", words, environment: [:]).run().line
        }
        let response = try LoopbackClient().send("GET", url)
        guard let location = response.value(of: "location") else {
            throw CredentialError(.denied, "the page says \(response.status)")
        }
        return location
    }

    /// Signs in at the resource by the two halves.
    ///
    /// - Parameter words: the arguments of `login`; those for the resource by default.
    @discardableResult func signIn(
        at home: Home, _ words: [String]? = nil, more: [String] = [], exits status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        let url = try home.run(
            ["login"] + (words ?? ["--resource", api]) + more + ["--print-url"], environment: trust,
            sourceLocation: sourceLocation
        ).line
        return try home.run(
            ["login", "--complete", "-"], input: try redirect(from: url) + "\n", environment: trust, exits: status,
            sourceLocation: sourceLocation)
    }

    /// Calls the resource with the account's token.
    @discardableResult func call(
        from home: Home, _ words: [String] = [], exits status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        try home.run(
            ["request", "POST", api, "--json", "{}"] + words, environment: trust, exits: status,
            sourceLocation: sourceLocation)
    }

    /// The variables by which its authority is trusted, if it uses TLS.
    var trust: [String: String] { certificates.map { ["CURL_CA_BUNDLE": $0 + "/ca.pem"] } ?? [:] }
}
