/// The place that a rule of `config.json` lets a token go to: a host, perhaps a port, perhaps a path.
public struct DestinationPattern: Sendable, Hashable, CustomStringConvertible {
    /// The host in lower case, without brackets.
    public let host: String
    /// The port; `nil` for the port of the scheme.
    public let port: UInt16?
    /// The path that everything must be below, without slashes at its ends; `nil` for the whole server.
    public let path: String?

    /// Reads `host` or `host:port`, and a path.
    ///
    /// - Returns: `nil` for text that is neither a host name nor an address, or for an invalid path.
    package init?(_ text: String, path: String? = nil) {
        guard !text.contains(where: { "/?#@\\".contains($0) }), let address = URI("https://\(text)"),
            address.port != 0, Self.isHost(address.host)
        else { return nil }
        host = address.host
        port = address.port
        let parts = path.map(Self.parts) ?? []
        if path != nil, parts.isEmpty || !parts.allSatisfy(Self.isPlain) { return nil }
        self.path = parts.isEmpty ? nil : parts.joined(separator: "/")
    }

    /// Whether a host is one that a server can have: a rule for `*.example.com` would look like one for many hosts
    /// and match no host.
    private static func isHost(_ host: String) -> Bool {
        if host.contains(":") { return true }
        var labels = host.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        return labels.allSatisfy { label in
            !label.isEmpty && label.first != "-"
                && label.utf8.allSatisfy { byte in
                    byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte)
                        || (0x61...0x7A).contains(byte)
                }
        }
    }

    /// How a place and a destination relate.
    package enum Match: Sendable, Equatable {
        /// Another host.
        case no
        /// The host, and another port.
        case otherPort
        /// The host and the port, and another path or an unknown one.
        case otherPath
        /// All that the place names.
        case yes
    }

    /// Whether `destination` is there.
    package func match(_ destination: Destination) -> Match {
        guard host == destination.host else { return .no }
        guard port.map({ $0 == destination.port }) ?? destination.isAtStandardPort else { return .otherPort }
        guard let path else { return .yes }
        let wanted = Self.parts(path), found = Self.parts(destination.path)
        // A path with dot segments means another to the server than it says.
        guard found.allSatisfy(Self.isPlain), found.starts(with: wanted) else { return .otherPath }
        return .yes
    }

    /// Whether its path is that of a destination or one below.
    func isBelow(_ destination: Destination) -> Bool {
        Self.parts(path ?? "").starts(with: Self.parts(destination.path))
    }

    /// As a rule writes it: `git.example.com:8443/team`.
    public var description: String {
        let shown = host.contains(":") ? "[\(host)]" : host
        return shown + (port.map { ":\($0)" } ?? "") + (path.map { "/" + $0 } ?? "")
    }

    private static func parts(_ path: String) -> [Substring] { path.split(separator: "/") }

    private static func isPlain(_ part: Substring) -> Bool {
        let lowered = part.lowercased()
        return part != "." && part != ".." && !part.contains { "?#\\".contains($0) }
            && !["%2e", "%2f", "%5c"].contains(where: lowered.contains)
    }
}
