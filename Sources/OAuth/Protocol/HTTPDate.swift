package import CredentialCore

extension Instant {
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
