/// The party that named an address to which credmgr sends something.
///
/// The document that names an address sets its ``URI/author``, which stays with it up to the socket that leads
/// there. The one rule about this machine and its network is ``mayName(_:from:)``: an outside server must not have
/// credmgr send requests to programs that trust every local caller.
public enum AddressAuthor: Sendable, Hashable {
    /// The user: a definition, an option, a variable of the environment.
    case user
    /// The issuer that the user named, by its metadata or its responses.
    ///
    /// - Parameter host: the issuer's own host.
    case issuer(host: String)
    /// An API, or an authorization server that only an API named.
    ///
    /// - Parameter host: the API's own host.
    case api(host: String)

    /// How near to this machine an address is.
    public enum Reach: Int, Sendable, Comparable {
        /// An address of the internet.
        case internet
        /// A private (RFC 1918, RFC 4193) or link-local address (RFC 3927, RFC 4291 §2.5.6).
        case network
        /// The loopback (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3), or the unspecified address, which connects there.
        case machine

        /// Compares by nearness.
        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

        /// The reach of an IPv4 address.
        public init(ipv4 number: UInt32) {
            if number >> 24 == 127 || number == 0 {
                self = .machine
            } else if number >> 24 == 10 || number >> 20 == 0xAC1 || number >> 16 == 0xC0A8
                || number >> 16 == 0xA9FE
            {
                self = .network
            } else {
                self = .internet
            }
        }

        /// The reach of an IPv6 address of 16 bytes; an IPv4 address within one counts as that.
        public init(ipv6 bytes: [UInt8]) {
            let head = bytes.prefix(10)
            let tail = bytes.suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let middle = bytes.dropFirst(10).prefix(2)
            if head.allSatisfy({ $0 == 0 }), middle.allSatisfy({ $0 == 0 }), tail <= 1 {
                self = .machine
            } else if head.allSatisfy({ $0 == 0 }), middle.allSatisfy({ $0 == 0xFF }) {
                self.init(ipv4: tail)
            } else if let first = bytes.first, let second = bytes.dropFirst().first,
                first & 0xFE == 0xFC || first == 0xFE && second & 0xC0 == 0x80
            {
                self = .network
            } else {
                self = .internet
            }
        }
    }

    /// The host of the author; `nil` for the user.
    public var host: String? {
        switch self {
        case .user: nil
        case .issuer(let host), .api(let host): host
        }
    }

    /// Whether the author may name an address.
    ///
    /// - Parameters:
    ///   - reach: the reach of the address.
    ///   - own: the reach of the author's own host. A server on this machine may name others here.
    public func mayName(_ reach: Reach, from own: Reach) -> Bool {
        switch self {
        case .user: true
        case .issuer: reach != .machine || own == .machine
        case .api: reach == .internet || own != .internet
        }
    }
}

extension AddressAuthor {
    /// The party, for messages; `nil` for the user, who may name every address.
    package var party: LocalizedMessage? {
        switch self {
        case .user: return nil
        case .issuer(let host): return "the issuer at \(host)"
        case .api(let host): return "the API at \(host)"
        }
    }

    /// The rules for addresses, as the details of an error name them (`docs/explanation/threat-model.md`).
    package enum Rule: String, Sendable, CaseIterable {
        /// No address without encryption, but on this machine.
        case https = "an address must be a URL with https, or with http on this machine"
        /// An outside server reaches no program that trusts this machine or its network.
        case network = "a server of another network must not name an address of this machine or its network"
        /// No secret goes to a second server of an API's choice.
        case oneOrigin = "all endpoints of an API's authorization server must be on one origin"
        /// The page is of a server that receives the code.
        case page = "a page must be on the origin of the issuer or of the token endpoint"
        /// A document leads to no other server.
        case sameOrigin = "the address must be on the origin of the server that names it"
        /// Metadata is of the issuer that it was asked for.
        case issuer = "metadata must be for the issuer that it was requested for"
        /// Metadata is of the resource that it was asked for.
        case resource = "metadata must be for the resource that it was requested for"
        /// A response is of the issuer that the page belongs to.
        case response = "the response of a page must be from the issuer of the sign-in"
        /// The ID of a registered client is no address.
        case clientID = "the ID of a client that a server registers must not be a URL"
        /// The document of a client is about this client.
        case clientDocument = "the document of a client must be about this client, without a secret"
        /// A plugin opens declared pages only.
        case pages = "a plugin may open only pages that its manifest or the account type names"
        /// A token goes to the servers of its type only.
        case destination = "a token may go only to servers that the account type or a rule names"
    }

    /// The error for an address that its author may not name. Each of these errors is made here, so that each one
    /// names the address, its author and the rule.
    ///
    /// - Parameters:
    ///   - message: the text for the user.
    ///   - address: the address without any part that may be secret.
    ///   - author: the document or the party that names the address.
    ///   - code: another code than ``ErrorCode/validationFailed``: ``ErrorCode/configuration`` for a definition.
    package static func refusal(
        _ message: LocalizedMessage, of address: String, by author: LocalizedMessage, rule: Rule,
        code: ErrorCode = .validationFailed, hint: LocalizedMessage? = nil
    ) -> CredentialError {
        CredentialError(
            code, message, hint: hint,
            details: [
                "address: " + UntrustedText.shown(address), "author: \(author)", "rule: " + rule.rawValue,
            ])
    }
}

extension URI {
    /// The same address, named by another party.
    public func named(by author: AddressAuthor) -> URI {
        var address = self
        address.author = author
        return address
    }

    /// The reach of the host as it is written; a name that resolves to a near address is not known here.
    public var reach: AddressAuthor.Reach { isLoopback ? .machine : isOfThisNetwork ? .network : .internet }

    /// Whether the address may be named by its author, as far as the hosts tell by themselves.
    package var isNamedRightly: Bool {
        let own = author.host.flatMap { URI("https://" + ($0.contains(":") ? "[\($0)]" : $0)) }
        return author.mayName(reach, from: own?.reach ?? .internet)
    }
}
