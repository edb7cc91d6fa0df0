import CredentialCore

/// For how long a published document serves, by what the provider says (RFC 9111 §5.2.2) and our own bounds.
///
/// The lower bound holds against `no-store` and `max-age=0` too: some servers put them on every reply, key sets
/// included, and each refresh would then ask for the keys first. A token signed with a newer key has them fetched
/// anew in any case.
enum CacheLifetime {
    /// The least, in seconds.
    static let least: Int64 = 300

    /// The lifetime in seconds.
    ///
    /// - Parameter most: the lifetime of a document that the provider says nothing about, and the greatest.
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
