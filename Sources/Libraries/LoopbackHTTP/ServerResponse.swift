package import StrictJSON

/// A response of the loopback server.
package struct ServerResponse: Sendable {
    /// The status code.
    package var status: Int
    /// Header fields. One whose name or value is no header text (a line break in it) is left out.
    package var headers: [(name: String, value: String)]
    /// The body.
    package var body: [UInt8]
    /// How long the body takes to trickle out in milliseconds; 0 for at once. For servers that play a slow one.
    package var trickleMilliseconds = 0
    /// Called once the reply was sent, or the connection broke.
    package var afterSent: (@Sendable () -> Void)?

    /// Makes a reply; every one forbids caching and content sniffing.
    package init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        afterSent: (@Sendable () -> Void)? = nil
    ) {
        self.status = status
        self.headers =
            [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")] + headers
        self.body = body
        self.afterSent = afterSent
    }

    /// A reply of plain text.
    package static func text(_ status: Int, _ text: String) -> ServerResponse {
        ServerResponse(
            status: status, headers: [("Content-Type", "text/plain; charset=utf-8")],
            body: Array((text + "\n").utf8))
    }

    /// A reply of JSON.
    package static func json(_ status: Int, _ value: JSONValue) -> ServerResponse {
        ServerResponse(
            status: status, headers: [("Content-Type", "application/json; charset=utf-8")], body: value.bytes())
    }
}
