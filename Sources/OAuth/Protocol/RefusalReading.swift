import CredentialCore
import StrictJSON

/// The reading of a refusal in all places in which providers put the reason: `error` and `error_description` (RFC
/// 6749 §5.2), an object or array in their place, `errors`, `message` and its like, form coding, plain text, or a
/// challenge in the head (RFC 6750 §3).
struct RefusalReading {
    /// The error code; `nil` if there is no code.
    private(set) var code: String?
    /// The reason for people, as it came.
    private(set) var description: String?
    /// Whether a response with a status of success is a refusal: it has an error, and no token.
    private(set) var isRefusal = false
    private var uri: String?
    private var suberror: String?
    private var numbers: [Int64] = []
    private var challenge: OAuthError.Challenge?
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
        if isEmpty {
            challenge = Self.challenge(of: response)
            return
        }
        let mediaType = response.value(of: "content-type")?.lowercased() ?? ""
        if mediaType.hasPrefix("text/html") { return }
        // A reason that is no UTF-8 must not hide the code: a poll of the device flow would end by it.
        let lenient = LenientReply(response.body, isForm: mediaType.hasPrefix("application/x-www-form-urlencoded"))
        code = lenient.errors.isEmpty ? nil : lenient.first("error")
        isRefusal = code != nil && !lenient.hasTokens
        description = lenient.first("error_description") ?? lenient.first("message")
        let isPage = response.body.first { $0 > 0x20 } == UInt8(ascii: "<")
        if code == nil, description == nil, !lenient.hasObject, !isPage, response.body.count <= Self.longestText {
            description = String(decoding: response.body, as: UTF8.self)
        }
    }

    /// The error of a challenge for a token.
    private static func challenge(of response: HTTPResponse) -> OAuthError.Challenge? {
        for challenge in AuthenticationChallenge.parse(response.values(of: "www-authenticate"))
        where ["bearer", "dpop"].contains(challenge.scheme) {
            guard let error = challenge.parameters["error"], !error.isEmpty else { continue }
            return OAuthError.Challenge(code: error, description: challenge.parameters["error_description"])
        }
        return nil
    }

    private mutating func read(_ object: JSONObject) {
        func text(_ members: JSONObject, _ names: String...) -> String? {
            names.lazy.compactMap { members[$0]?.string }.first { !$0.isEmpty }
        }
        uri = object["error_uri"]?.string
        suberror = object["suberror"]?.string
        numbers = (object["error_codes"]?.array ?? []).compactMap(\.integer)
        let (error, errors) = (object["error"], object["errors"])
        let nested = error?.object ?? error?.array?.first?.object ?? errors?.array?.first?.object
        let number = Self.number(in: object, status: status)
        let isFailure =
            object["ok"] == false || object["success"] == false || number != 0
            || Self.failures.contains(object["status"]?.string ?? "")
        let hasError =
            Self.saysSomething(error) || Self.saysSomething(errors) || text(object, "error_description") != nil
        isRefusal = (isFailure || hasError) && !Self.saysSomething(object["access_token"])
        let told = text(object, "error") ?? Self.firstText(of: error?.array)
        let inner = nested.flatMap { text($0, "code", "errorType", "error", "type") }
        code =
            told ?? inner ?? text(object, "errorCode", "error_code", "status")
            ?? (number == 0 ? nil : String(number))
        var reasons = [
            text(object, "error_description") ?? nested.flatMap {
                text($0, "message", "detail", "error_description")
            }
                ?? text(
                    object, "message", "Message", "error_message", "error_msg", "errorSummary", "errmsg", "msg",
                    "detail", "reason", "title"),
            text(object, "hint"),
        ].compactMap(\.self)
        if reasons.isEmpty { reasons = [Self.reason(in: errors)].compactMap(\.self) }
        // Twitch's message is a code.
        let isWithoutCode = code.map { Self.failures.contains($0) } ?? true
        if isWithoutCode, let word = reasons.first, word.contains("_"), word.utf8.allSatisfy(Self.isOfCode) {
            code = word
        }
        description = reasons.isEmpty ? nil : reasons.joined(separator: " ")
    }

    /// The values of `status` that only say that there is an error.
    private static let failures: Set<String> = ["error", "fail", "failed", "failure"]

    /// Whether a value is there and not empty, `false` or 0.
    private static func saysSomething(_ value: JSONValue?) -> Bool {
        switch value {
        case nil, .null?, .bool(false)?, .integer(0)?, .string("")?: false
        case .object(let members)?: !members.isEmpty
        case .array(let elements)?: !elements.isEmpty
        default: true
        }
    }

    /// The number of the error, as WeChat and Lark have it; 0 if there is no error. A number that repeats a status
    /// is none.
    private static func number(in object: JSONObject, status: Int) -> Int64 {
        if let number = object["errcode"]?.integer, number != 0 { return number }
        let hasReason = object["msg"]?.string != nil || object["message"]?.string != nil
        guard (200..<300).contains(status), hasReason, let number = object["code"]?.integer,
            !(200..<300).contains(number)
        else { return 0 }
        return number
    }

    private static func firstText(of values: [JSONValue]?) -> String? {
        values?.lazy.compactMap(\.string).first { !$0.isEmpty }
    }

    /// The first reason of `errors`: a list of texts, or an object with the texts for each parameter.
    private static func reason(in errors: JSONValue?) -> String? {
        if let list = errors?.array { return firstText(of: list) }
        for (name, value) in errors?.object?.members ?? [] {
            if let text = value.string ?? firstText(of: value.array) { return "\(name): \(text)" }
        }
        return nil
    }

    private static func isOfCode(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
    }

    /// The refusal.
    func error(retryAfter: String?) -> OAuthError {
        var error = OAuthError(
            code: code ?? (isEmpty ? EndpointResponse.noReason : EndpointResponse.unknownReason),
            description: description == code ? nil : description, uri: uri, status: status, retryAfter: retryAfter)
        (error.suberror, error.numbers, error.challenge) = (suberror, numbers, challenge)
        return error
    }
}
