/// How a group is shared, as this host knows it.
package struct ClusterConfiguration: Sendable, Hashable {
    /// The addresses of the cluster, as `https://HOST:PORT`.
    package var endpoints: [String]
    /// The file of the certificate authorities that the nodes' certificates lead to.
    package var authorities: String?
    /// The certificate that this host shows, whose common name is its user in the cluster.
    package var certificate: ClientCertificate?
    /// The prefix of the keys.
    package var prefix: String
    /// The name of this host.
    package var host: String
    /// How long an access token is kept before the cluster is asked again, in seconds.
    package var cacheSeconds: Int64
    /// After how many seconds a refresh with an unknown end is repeated; `nil` for never.
    package var takeOverSeconds: Int64?
    /// The store of this machine that has this host's own key.
    package var keyStore: StoreKind
    /// The public half of that key; empty until there is one.
    package var publicKey: [UInt8]
    /// The group's random id; empty until the cluster has told it.
    package var groupID: [UInt8]
    /// The fingerprint that the first group key of this host must have, as the user gave it; `nil` if the user gave
    /// no fingerprint.
    package var groupFingerprint: String?

    /// How long access tokens are kept without a setting.
    package static let standardCacheSeconds: Int64 = 60
    /// The default prefix of keys.
    package static let standardPrefix = "/credmgr"

    /// The path below which the keys of a group are stored.
    package func path(of group: KeychainGroup) -> String { Self.path(of: group, below: prefix) }

    /// The same if only the prefix is known.
    package static func path(of group: KeychainGroup, below prefix: String) -> String {
        (prefix.hasSuffix("/") ? prefix : prefix + "/") + group.name + "/"
    }

    /// The role of a group in its cluster. It gives access to all of the group's keys, so each prefix has its own
    /// role. The role appears in commands, so characters that a shell would interpret are written as in an address.
    package static func role(of group: KeychainGroup, below prefix: String) -> String {
        let path = path(of: group, below: prefix)
        if path == self.path(of: group, below: standardPrefix) { return "credmgr-\(group)" }
        // No name of a group has a slash.
        return "credmgr"
            + path.dropLast().utf8.map { byte in
                let character = String(UnicodeScalar(byte))
                if byte == UInt8(ascii: "/") || Identifier.isValid("a" + character) { return character }
                return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }.joined()
    }

    /// Whether commands can be printed for a user of the cluster, which may be called as no host is.
    package static func isUser(_ name: String) -> Bool {
        !name.isEmpty && !name.hasPrefix("-") && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// Returns the command that prints the commands by which an administrator of the cluster gives this host its
    /// role.
    ///
    /// - Parameter user: the common name of the certificate, by which the cluster knows the host.
    package func setup(of group: KeychainGroup, user: String?) -> LocalizedMessage {
        let user = user.flatMap { Self.isUser($0) ? $0 : nil } ?? host
        let command: LocalizedMessage =
            "credmgr groups share \(group) --print-etcd-setup --name \(ShellQuoting.word(user))"
        if prefix == Self.standardPrefix { return command }
        return "\(command) --prefix \(ShellQuoting.word(prefix))"
    }

    package init(
        endpoints: [String], authorities: String?, certificate: ClientCertificate?, prefix: String, host: String,
        keyStore: StoreKind
    ) {
        self.endpoints = endpoints
        self.authorities = authorities
        self.certificate = certificate
        self.prefix = prefix
        self.host = host
        cacheSeconds = Self.standardCacheSeconds
        self.keyStore = keyStore
        publicKey = []
        groupID = []
    }
}
