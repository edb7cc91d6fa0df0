/// A request as the loopback server received it.
package struct ServerRequest: Sendable {
    /// The method as sent.
    package let method: String
    /// The path as sent, not decoded.
    package let path: String
    /// The text after `?`, as sent.
    package let query: String?
    /// Header fields in the order received, names in lower case.
    package let headers: [(name: String, value: String)]
    /// The body, never larger than the server's limit.
    package let body: [UInt8]

    /// The sender; `nil` if the connection is gone.
    package let peer: LoopbackPeer?

    /// The values of a header field, by its lower-case name.
    package func values(of name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }

    /// The value of a header field that must not be repeated; `nil` when it is missing or repeated.
    package func value(of name: String) -> String? {
        let values = values(of: name)
        return values.count == 1 ? values[0] : nil
    }

    /// The media type of the body in lower case, without parameters; empty when the request names no type.
    package var mediaType: String {
        let value = self.value(of: "content-type") ?? ""
        let type = value.prefix { $0 != ";" }
        return String(type.filter { $0 != " " && $0 != "\t" }).lowercased()
    }

    /// The value of a cookie (RFC 6265 §5.4).
    package func cookie(_ name: String) -> String? {
        for header in values(of: "cookie") {
            for pair in header.split(separator: ";") {
                let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0] == name { return String(parts[1]) }
            }
        }
        return nil
    }
}
