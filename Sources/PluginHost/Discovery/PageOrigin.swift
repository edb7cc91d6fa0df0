import CredentialCore

/// The origin of pages that a plugin may send a person to: `https://login.example.com`, or `https://*.example.com`
/// for every host below a name.
struct PageOrigin: Sendable, Hashable {
    /// How it is written.
    let text: String
    /// The origin, with a host in the place of `*`.
    private let origin: URI
    private let isBelow: Bool

    private static let mark = "*."

    /// Reads an origin.
    ///
    /// - Returns: `nil` for one with a path, without TLS on another host than the loopback, or of all hosts of a
    ///   top-level domain.
    init?(_ text: String) {
        let parts = text.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        isBelow = parts[1].hasPrefix(Self.mark)
        let rest = isBelow ? parts[1].dropFirst(Self.mark.count) : parts[1]
        guard
            let origin = URI("\(parts[0])//\(rest)"), origin.isWeb, origin.isSecure,
            origin.origin == "\(parts[0])//\(rest)", !origin.host.contains("*")
        else { return nil }
        // Numbers and single names have no names below them.
        let last = origin.host.split(separator: ".").last
        let hasNamesBelow = origin.host.contains(".") && last.flatMap { Int($0) } == nil
        if isBelow, !hasNamesBelow { return nil }
        self.text = text
        self.origin = origin
    }

    /// Whether an address is of this origin.
    func includes(_ address: URI) -> Bool {
        guard isBelow else { return address.origin == origin.origin }
        return address.scheme == origin.scheme && address.effectivePort == origin.effectivePort
            && address.host.hasSuffix("." + origin.host)
    }
}
