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
