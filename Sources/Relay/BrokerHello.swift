package import StrictJSON

/// The reply of a broker to `hello`, and the variables that follow from it.
package struct BrokerHello: Sendable, Hashable {
    /// The clouds that the broker answers for.
    package var clouds: [String]
    /// The languages of its socket.
    package var speak: [String]
    /// The network namespace of its process; `nil` if it does not know it.
    package var namespace: String?

    /// The line that asks for it.
    package static let line = Array("{\"op\":\"hello\",\"v\":1}\n".utf8)

    /// Makes a reply.
    package init(clouds: [String], speak: [String], namespace: String?) {
        self.clouds = clouds
        self.speak = speak
        self.namespace = namespace
    }

    /// Reads the members of a reply.
    package init(_ members: JSONObject) {
        func words(_ name: String) -> [String] {
            var found: [String] = []
            for value in members[name]?.array ?? [] { if let word = value.string { found.append(word) } }
            return found
        }
        self.init(clouds: words("clouds"), speak: words("speak"), namespace: members["netns"]?.string)
    }

    /// Whether a relay lets only programs of its own user in: those of other users share its loopback interface, if
    /// it runs in the namespace of the broker. A namespace without a name counts as the same.
    package func sharesLoopback(with own: String?) -> Bool {
        guard let own, let namespace else { return true }
        return own == namespace
    }

    /// Returns the variables of the command that a relay runs.
    ///
    /// - Parameters:
    ///   - port: the relay's.
    ///   - secret: the secret of its run.
    ///   - socket: the broker's.
    package func variables(port: UInt16, secret: String, socket: String) -> [(name: String, value: String)] {
        let place = "127.0.0.1:\(port)"
        var variables = [(name: "CREDMGR_SOCK", value: socket)]
        func add(_ name: String, _ value: String) { variables.append((name: name, value: value)) }
        if speak.contains("oidc-agent") { add("OIDC_SOCK", socket) }
        if clouds.contains("gce") {
            add("GCE_METADATA_HOST", place)
            add("GCE_METADATA_IP", place)
            add("GCE_METADATA_ROOT", place)
            add("METADATA_SERVER_DETECTION", "assume-present")
        }
        if clouds.contains("azure") {
            add("IDENTITY_ENDPOINT", "http://\(place)/azure")
            add("IDENTITY_HEADER", secret)
        }
        if clouds.contains("aws") {
            add("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://\(place)/aws")
            add("AWS_CONTAINER_AUTHORIZATION_TOKEN", secret)
        }
        if clouds.contains("actions") {
            add("ACTIONS_ID_TOKEN_REQUEST_URL", "http://\(place)/actions?")
            add("ACTIONS_ID_TOKEN_REQUEST_TOKEN", secret)
        }
        return variables
    }
}
