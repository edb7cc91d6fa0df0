package import CredentialCore
package import StrictJSON

/// The response of an endpoint of the provider, sorted by its meaning for credmgr.
package enum EndpointResponse: Sendable {
    /// A JSON object with a status of 2xx.
    case object(JSONObject)
    /// A refusal by the provider itself.
    case refused(OAuthError)

    /// The `error` of a refusal without a body, as glewlwyd sends for a dead refresh token (400) or a wrong client
    /// secret (403).
    package static let noReason = ""
    /// The `error` of a refusal whose body is no OAuth error.
    package static let unknownReason = "unknown"

    /// Sorts a reply.
    ///
    /// - Parameter place: which endpoint answered, for messages: "token endpoint of https://example.com".
    /// - Throws: ``ErrorCode/temporary`` for 408, 425, 429, 5xx, a redirect or an HTML page, which leave the
    ///   outcome unknown; ``ErrorCode/malformedReply`` for a 2xx without a JSON object; ``ErrorCode/configuration``
    ///   for 404, 405 and 410.
    package static func sort(_ response: HTTPResponse, from place: LocalizedMessage) throws(CredentialError)
        -> EndpointResponse
    {
        let retryAfter = response.value(of: "retry-after").map { UntrustedText.shown($0, limit: 60) }
        let parsed: Result<JSONValue, JSONError> = Result { () throws(JSONError) in
            // RFC 8259 §8.1 lets a reader pass over a byte order mark.
            try JSONValue.parse(response.body.withoutByteOrderMark)
        }
        let object = (try? parsed.get())?.object
        let reading = RefusalReading(response, object)
        switch response.status {
        case 408, 425, 429, 500...599:
            throw temporary(response, reading, retryAfter, from: place)
        case 300..<400:
            throw CredentialError(
                .temporary, "the \(place) returned a redirect, which credmgr does not follow",
                hint: "check whether this network requires a sign-in of its own",
                details: ["status \(response.status)"])
        case 404, 405, 410:
            if reading.code != nil { break }
            throw CredentialError(
                .configuration, "the \(place) was not found: HTTP status \(response.status)",
                hint: "check the endpoints of the account type")
        default: break
        }
        let isSuccess = (200..<300).contains(response.status)
        if let object {
            if isSuccess, !reading.isRefusal { return .object(object) }
            return .refused(reading.error(retryAfter: retryAfter))
        }
        let isPage = isPage(response)
        if isSuccess ? reading.isRefusal && !isPage : reading.code != nil {
            return .refused(reading.error(retryAfter: retryAfter))
        }
        if isPage { throw page(response.status, from: place) }
        guard isSuccess else { return .refused(reading.error(retryAfter: retryAfter)) }
        throw malformed(parsed, response, from: place)
    }

    private static func page(_ status: Int, from place: LocalizedMessage) -> CredentialError {
        let message: LocalizedMessage = "the \(place) returned a web page instead of JSON"
        let said = "HTTP status \(status)"
        return CredentialError(
            .temporary, (200..<300).contains(status) ? message : "\(message) (\(said))",
            hint: "check whether this network requires a sign-in of its own", details: ["status \(status)"])
    }

    private static func malformed(
        _ parsed: Result<JSONValue, JSONError>, _ response: HTTPResponse, from place: LocalizedMessage
    ) -> CredentialError {
        if response.body.allSatisfy({ $0 <= 0x20 }) {
            return CredentialError(.malformedReply, "the \(place) returned an empty body instead of JSON")
        }
        let fields = FormURLEncoding.decode(String(decoding: response.body, as: UTF8.self)) ?? []
        if fields.contains(where: { ["access_token", "error"].contains($0.name) }) {
            return CredentialError(.malformedReply, "the \(place) returned form encoding instead of JSON")
        }
        let form: LocalizedMessage
        switch parsed {
        case .success(let value): form = value.kind
        case .failure(let error):
            guard isText(response.body) else {
                return CredentialError(.malformedReply, "the \(place) returned invalid JSON: \(error)")
            }
            form = LocalizedMessage(verbatim: "text/plain")
        }
        return CredentialError(.malformedReply, "the \(place) returned \(form), not an object")
    }

    /// Whether a body that is not valid JSON is plain text: it does not even begin as an object, an array or a
    /// string does.
    private static func isText(_ body: [UInt8]) -> Bool {
        let text = body.withoutByteOrderMark
        guard let first = text.first(where: { $0 > 0x20 }), !"{[\"".utf8.contains(first) else { return false }
        return text.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0D].contains($0) }
            && String(validating: text, as: UTF8.self) != nil
    }

    private static func temporary(
        _ response: HTTPResponse, _ reading: RefusalReading, _ retryAfter: String?, from place: LocalizedMessage
    ) -> CredentialError {
        var details: [String] = []
        let code = reading.code.map { UntrustedText.shown($0, limit: 60) }
        let text = reading.description.flatMap { $0 == reading.code ? nil : UntrustedText.shown($0) }
        if let code { details.append("error: " + code) }
        if let text { details.append(text) }
        if let retryAfter { details.append("retry-after: " + retryAfter) }
        let reason: LocalizedMessage = response.status == 429 ? "is limiting requests" : "failed"
        let said = [code, text].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ": ")
        let status = "\(response.status)" + (said.isEmpty ? "" : " (\(said))")
        return CredentialError(
            .temporary, "the \(place) \(reason): HTTP status \(status)",
            hint: retryAfter.flatMap { Int64($0) }.map { "try again in \($0) seconds" } ?? "try again later",
            details: details)
    }

    private static func isPage(_ response: HTTPResponse) -> Bool {
        if response.body.isEmpty { return false }
        if response.value(of: "content-type")?.lowercased().hasPrefix("text/html") ?? false { return true }
        return response.body.first { $0 > 0x20 } == UInt8(ascii: "<")
    }
}
