import CredentialCore
import StrictJSON

/// A response to a request of a cloud's SDK.
struct HTTPReply: Sendable, Equatable {
    /// The status.
    var status: Int
    /// The type of the body.
    var contentType: String
    /// The body.
    var body: [UInt8]
    /// Further fields.
    var fields: [HTTPRequestHead.Parameter] = []

    /// A response with a JSON object.
    static func json(status: Int = 200, _ members: KeyValuePairs<String, JSONValue>) -> HTTPReply {
        HTTPReply(
            status: status, contentType: "application/json",
            body: JSONValue.object(JSONObject(members)).bytes())
    }

    /// A response with text.
    static func text(_ text: String) -> HTTPReply {
        HTTPReply(status: 200, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    /// A response for a request that is refused.
    ///
    /// - Parameter status: if the protocol has another than the error's.
    static func failure(_ failure: BrokerFailure, status: Int? = nil) -> HTTPReply {
        var reply = json(
            status: status ?? failure.error.httpStatus,
            ["error": .string(failure.error.rawValue), "reason": JSONValue(failure.reason)])
        if let seconds = failure.retryAfter {
            reply.fields.append(.init(name: "Retry-After", value: String(seconds)))
        }
        return reply
    }

    /// The response as it is sent. A response with a token must not stay in a cache.
    ///
    /// - Parameters:
    ///   - closes: whether the connection ends with it.
    ///   - hasBody: `false` for a response to `HEAD`, which tells only the length of the body.
    func bytes(closes: Bool, hasBody: Bool = true) -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(Self.phrase(status))\r\n"
        head += "Content-Type: \(contentType)\r\nContent-Length: \(body.count)\r\nCache-Control: no-store\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        if closes { head += "Connection: close\r\n" }
        return Array((head + "\r\n").utf8) + (hasBody ? body : [])
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: "Internal Server Error"
        }
    }
}
