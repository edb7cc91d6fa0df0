package import CredentialCore

/// For how long a published document serves, by the provider's header fields (RFC 9111 §5.2.2) and our own bounds.
///
/// The lower bound holds against `no-store` and `max-age=0` too: some servers put them on every reply, key sets
/// included, and each refresh would then ask for the keys first. If a token is signed with a newer key, the keys
/// are fetched again in any case.
enum CacheLifetime {
    /// The least, in seconds.
    static let least: Int64 = 300

    /// The lifetime in seconds.
    ///
    /// - Parameter most: the lifetime of a document whose response names no lifetime, and the greatest lifetime.
    static func seconds(of response: HTTPResponse, atMost most: Int64) -> Int64 {
        let directives = response.values(of: "cache-control").joined(separator: ",").lowercased()
            .filter { !" \t\"".contains($0) }.split(separator: ",")
        if directives.contains(where: { $0 == "no-store" || $0 == "no-cache" }) { return least }
        guard let text = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count),
            !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return most }
        let age = response.value(of: "age").flatMap { Int64($0) } ?? 0
        // More digits than fit are a long time.
        let left = (Int64(text) ?? .max).subtractingReportingOverflow(max(age, 0)).partialValue
        return min(max(left, least), most)
    }
}

extension Timestamp {
    /// Reads the date of an HTTP header field (RFC 9110 §5.6.7, `IMF-fixdate`): `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// - Returns: `nil` for any other text; the two obsolete forms are of no use to anybody who sends `Date` today.
    package init?(httpDate text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT",
            let month = Self.months.firstIndex(of: String(words[2]))
        else { return nil }
        let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        self.init(rfc3339: "\(words[3])-\(number)-\(words[1])T\(words[4])Z")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
