import CredentialCore
import StrictJSON

/// The reading of a refusal in all places in which providers put the reason: `error` and `error_description` (RFC
/// 6749 §5.2), an object in their place, `errors`, `message`, `errorSummary`, `errmsg`, form coding, or plain text.
struct RefusalReading {
    /// The error code; `nil` if there is no code.
    private(set) var code: String?
    /// The reason for people, as it came.
    private(set) var description: String?
    /// Whether an object with a status of success is a refusal.
    private(set) var isRefusal = false
    private var uri: String?
    private var suberror: String?
    private var numbers: [Int64] = []
    private let status: Int
    private let isEmpty: Bool

    /// The longest text without a form that is shown, in bytes.
    private static let longestText = 200

    /// Reads a response.
    ///
    /// - Parameter object: its body, if that is a JSON object.
    init(_ response: HTTPResponse, _ object: JSONObject?) {
        status = response.status
        isEmpty = response.body.isEmpty
        if let object {
            read(object)
            return
        }
        let mediaType = response.value(of: "content-type")?.lowercased() ?? ""
        if mediaType.hasPrefix("text/html") { return }
        // A reason that is no UTF-8 must not hide the code: a poll of the device flow would end by it.
        let lenient = LenientReply(response.body, isForm: mediaType.hasPrefix("application/x-www-form-urlencoded"))
        func first(_ name: String) -> String? { lenient.values[name]?.first.flatMap { $0.isEmpty ? nil : $0 } }
        code = first("error")
        description = first("error_description") ?? first("message")
        if code == nil, description == nil, !lenient.hasObject, !isEmpty, response.body.count <= Self.longestText {
            description = String(decoding: response.body, as: UTF8.self)
        }
    }

    private mutating func read(_ object: JSONObject) {
        func text(_ members: JSONObject, _ names: String...) -> String? {
            names.lazy.compactMap { members[$0]?.string }.first { !$0.isEmpty }
        }
        uri = object["error_uri"]?.string
        suberror = object["suberror"]?.string
        numbers = (object["error_codes"]?.array ?? []).compactMap(\.integer)
        let nested = object["error"]?.object ?? object["errors"]?.array?.first?.object
        let number = object["errcode"]?.integer ?? 0
        isRefusal =
            object["error"]?.string != nil || object["error"]?.object != nil || object["ok"] == false
            || number != 0
        code =
            text(object, "error") ?? nested.flatMap { text($0, "code", "errorType", "error", "type") }
            ?? text(object, "errorCode", "status") ?? (number == 0 ? nil : String(number))
        var reasons = [
            text(object, "error_description") ?? nested.flatMap {
                text($0, "message", "detail", "error_description")
            }
                ?? text(object, "message", "error_message", "errorSummary", "errmsg", "detail", "reason"),
            text(object, "hint"),
        ].compactMap(\.self)
        if reasons.isEmpty, let first = object["errors"]?.array?.first?.string { reasons = [first] }
        // Twitch's message is a code.
        if code == nil, let word = reasons.first, word.contains("_"), word.utf8.allSatisfy(Self.isOfCode) {
            code = word
        }
        description = reasons.isEmpty ? nil : reasons.joined(separator: " ")
    }

    private static func isOfCode(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
    }

    /// The refusal.
    func error(retryAfter: String?) -> OAuthError {
        var error = OAuthError(
            code: code ?? (isEmpty ? EndpointResponse.noReason : EndpointResponse.unknownReason),
            description: description == code ? nil : description, uri: uri, status: status, retryAfter: retryAfter)
        (error.suberror, error.numbers) = (suberror, numbers)
        return error
    }
}
