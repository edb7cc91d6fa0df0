extension URI {
    /// The URL that a reference means here (RFC 3986 §5.2), as in a `Location` header; `nil` for an invalid one. It
    /// has the author of this URL.
    public func resolving(_ reference: String) -> URI? { resolved(reference)?.named(by: author) }

    private func resolved(_ reference: String) -> URI? {
        if Self.hasScheme(reference) { return URI(reference)?.withoutDotSegments }
        if reference.hasPrefix("//") { return URI(scheme + ":" + reference)?.withoutDotSegments }
        if reference.isEmpty { return replacing(path: path, query: query) }
        if reference.hasPrefix("?") { return URI(origin + path + reference) }
        if reference.hasPrefix("#") {
            return URI(origin + path + (query.map { "?" + $0 } ?? "") + reference)
        }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
        return URI(origin + (reference.hasPrefix("/") ? "" : folder) + reference)?.withoutDotSegments
    }

    /// The same URL with the dot segments of its path taken out (RFC 3986 §5.2.4): `/a/b/../c` is `/a/c`.
    public var withoutDotSegments: URI {
        guard isWeb, path.hasPrefix("/") else { return self }
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (place, segment) in segments.enumerated() {
            let isLast = place == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        let plain = "/" + kept.joined(separator: "/")
        guard plain != path, let fragment else {
            return plain == path ? self : replacing(path: plain, query: query)
        }
        return URI(replacing(path: plain, query: query).description + "#" + fragment) ?? self
    }

    /// Whether a reference begins with a scheme (RFC 3986 §4.2: a path's first part must hold no colon).
    package static func hasScheme(_ text: String) -> Bool {
        guard let end = text.utf8.firstIndex(where: { ":/?#".utf8.contains($0) }) else { return false }
        return text.utf8[end] == UInt8(ascii: ":")
    }
}
