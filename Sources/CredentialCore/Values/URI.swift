/// An absolute `http`, `https` or other URL, split into its parts (RFC 3986), strictly: printable ASCII only.
///
/// The query is kept as written, so `…/authorize?p=b2c_1_sign_in` survives.
public struct URI: Sendable, Hashable, CustomStringConvertible {
    /// The scheme in lower case.
    public let scheme: String
    /// The host in lower case, without brackets; empty for a URL without authority (`urn:…`).
    public let host: String
    /// The port written, if any.
    public let port: UInt16?
    /// The path as written; may be empty.
    public let path: String
    /// The text after `?`, as written, without a fragment.
    public let query: String?
    /// The text after `#`, as written.
    public let fragment: String?
    /// The party that named it. It is not part of the address: two addresses of different authors are equal.
    public internal(set) var author = AddressAuthor.user
    private let hasAuthority: Bool

    /// Splits `text`; `nil` unless it is an absolute URL of printable ASCII without user information.
    public init?(_ text: String) {
        guard text.utf8.count <= 1 << 17, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let scheme = text[..<colon].lowercased()
        guard let first = scheme.utf8.first, first >= 0x61, first <= 0x7A,
            scheme.utf8.allSatisfy({
                ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E
            })
        else { return nil }
        var rest = text[text.index(after: colon)...]
        var fragment: String?
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        var query: String?
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        var host = "", port: UInt16?
        let hasAuthority = rest.hasPrefix("//")
        if hasAuthority {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            guard let parts = Self.splitAuthority(rest[..<end]) else { return nil }
            (host, port) = parts
            rest = rest[end...]
        }
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = String(rest)
        self.query = query
        self.fragment = fragment
        self.hasAuthority = hasAuthority
    }

    private init(_ other: URI, path: String, query: String?, fragment: String?) {
        scheme = other.scheme
        host = other.host
        port = other.port
        hasAuthority = other.hasAuthority
        author = other.author
        self.path = path
        self.query = query
        self.fragment = fragment
    }

    private static func splitAuthority(_ text: Substring) -> (String, UInt16?)? {
        guard !text.contains("@"), !text.contains("\\") else { return nil }
        var host = text, portText: Substring?
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<close]
            let after = text[text.index(after: close)...]
            if !after.isEmpty {
                guard after.hasPrefix(":") else { return nil }
                portText = after.dropFirst()
            }
            guard host.utf8.allSatisfy({ $0 == 0x3A || $0 == 0x2E || Character(Unicode.Scalar($0)).isHexDigit })
            else { return nil }
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            portText = text[text.index(after: colon)...]
            guard let portText, !portText.contains(":") else { return nil }
        }
        guard !host.isEmpty, !host.contains(where: { "<>\"{}|^`%".contains($0) }) else { return nil }
        guard let portText, !portText.isEmpty else { return (host.lowercased(), nil) }
        guard portText.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(portText) else {
            return nil
        }
        return (host.lowercased(), port)
    }

    /// Whether two addresses are written alike, by any author.
    public static func == (one: URI, other: URI) -> Bool {
        one.scheme == other.scheme && one.host == other.host && one.port == other.port && one.path == other.path
            && one.query == other.query && one.fragment == other.fragment && one.hasAuthority == other.hasAuthority
    }

    /// Hashes the parts that ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        hasher.combine(host)
        hasher.combine(port)
        hasher.combine(path)
        hasher.combine(query)
        hasher.combine(fragment)
        hasher.combine(hasAuthority)
    }

    /// The port written, else the scheme's own.
    public var effectivePort: UInt16? { port ?? standardPort }

    private var standardPort: UInt16? { scheme == "https" ? 443 : scheme == "http" ? 80 : nil }

    /// Scheme, host and port, as browsers compare origins: `https://example.com`, `http://localhost:3000`.
    public var origin: String {
        let shownHost = host.contains(":") ? "[\(host)]" : host
        guard let port, port != standardPort else { return "\(scheme)://\(shownHost)" }
        return "\(scheme)://\(shownHost):\(port)"
    }

    /// Whether the host is this machine's loopback: `localhost`, a name below it (RFC 6761 §6.3), `127.0.0.0/8` in
    /// any form that a resolver takes, such as `127.1` or `0x7f000001`, `0.0.0.0`, which connects there, or `::1`.
    public var isLoopback: Bool {
        let host = nameWithoutFinalDot
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "::" { return true }
        return numericHost.map { AddressAuthor.Reach(ipv4: $0) == .machine } ?? false
    }

    /// Whether the host is an address of this machine or of its network: the loopback, a private address (RFC 1918,
    /// RFC 4193) or a link-local one (RFC 3927, RFC 4291 §2.5.6). A name that resolves to one is not known here.
    package var isOfThisNetwork: Bool {
        if isLoopback || host.hasPrefix("fe8") && host.contains(":") { return true }
        if host.contains(":"), ["fc", "fd", "fe9", "fea", "feb", "::ffff:"].contains(where: host.hasPrefix) {
            return true
        }
        return numericHost.map { AddressAuthor.Reach(ipv4: $0) != .internet } ?? false
    }

    /// The host without the final dot of an absolute name (RFC 1034 §3.1).
    private var nameWithoutFinalDot: Substring { host.hasSuffix(".") ? host.dropLast() : host[...] }

    /// The IPv4 address that the host is, in any form of inet_aton(3): one to four numbers, decimal, octal or
    /// hexadecimal, of which the last fills the remaining bytes.
    private var numericHost: UInt32? {
        let parts = nameWithoutFinalDot.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var numbers: [UInt32] = []
        for part in parts {
            let text = part.lowercased()
            let number: UInt32?
            if text.hasPrefix("0x") {
                number = text.count == 2 ? 0 : UInt32(text.dropFirst(2), radix: 16)
            } else if text.count > 1, text.hasPrefix("0") {
                number = UInt32(text, radix: 8)
            } else {
                number = text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? UInt32(text) : nil
            }
            guard let number else { return nil }
            numbers.append(number)
        }
        guard let last = numbers.popLast(), numbers.allSatisfy({ $0 < 256 }) else { return nil }
        let room = UInt64(1) << (8 * UInt64(4 - numbers.count))
        guard UInt64(last) < room else { return nil }
        var address: UInt32 = 0
        for number in numbers { address = address << 8 | number }
        return UInt32(truncatingIfNeeded: UInt64(address) * room) | last
    }

    /// Whether credentials may be sent there: `https`, or `http` to the loopback (RFC 8252 §8.3).
    public var isSecure: Bool { scheme == "https" || (scheme == "http" && isLoopback) }

    /// Whether it is an `http` or `https` URL with a host.
    public var isWeb: Bool { (scheme == "https" || scheme == "http") && !host.isEmpty }

    /// The path's components, empty ones left out.
    public var pathComponents: [String] { path.split(separator: "/").map(String.init) }

    /// The same URL with another path, and with the query and fragment given.
    public func replacing(path: String, query: String? = nil) -> URI {
        URI(self, path: path, query: query, fragment: nil)
    }

    /// The same URL with `items` (already form-encoded) put after its query.
    public func appending(query items: String) -> URI {
        let joined = query.map { $0.isEmpty ? items : $0 + "&" + items } ?? items
        return URI(self, path: path, query: joined, fragment: fragment)
    }

    /// The URL as text.
    public var description: String {
        var text = hasAuthority ? origin : scheme + ":"
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }
}

/// The former name of ``URI``, for programs that were written before it changed.
public typealias WebAddress = URI
