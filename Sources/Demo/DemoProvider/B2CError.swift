import CredentialCore
import LoopbackHTTP
import StrictJSON

/// A refusal as Azure AD B2C words it.
struct B2CError: Error {
    /// The OAuth error code.
    var error: String
    /// The number after `AADB2C`.
    var number: Int
    /// The sentence.
    var text: String
    /// The status of the response, if there is no redirect.
    var status = 400

    /// `error_description`: the sentence, the correlation id and the time, each on a line ended by CRLF.
    func description(correlationID: String, at time: Timestamp) -> String {
        let stamp = time.rfc3339.map { $0 == "T" ? " " : $0 }
        return "AADB2C\(number): \(text)\r\nCorrelation ID: \(correlationID)\r\nTimestamp: \(String(stamp))\r\n"
    }

    /// The reply of the token endpoint.
    func reply(correlationID: String, at time: Timestamp) -> ServerResponse {
        .json(
            status,
            [
                "error": .string(error),
                "error_description": .string(description(correlationID: correlationID, at: time)),
            ])
    }

    /// The page of an endpoint that cannot redirect.
    func page(correlationID: String, at time: Timestamp) -> ServerResponse {
        let lines = description(correlationID: correlationID, at: time).split(whereSeparator: \.isNewline)
        let content = lines.map { "<p>\(UntrustedText.markup(String($0)))</p>" }.joined(separator: "\n")
        return HTMLPage(title: "We can't sign you in", content: content).response(status)
    }

    /// A parameter is not there.
    static func missing(_ parameter: String) -> B2CError {
        B2CError(
            error: "invalid_request", number: 90083,
            text: "The request is missing required parameter: \(parameter).")
    }

    /// The provider itself failed.
    static let internalFault = B2CError(
        error: "server_error", number: 90037,
        text: "An error occurred while processing the request. Please contact administrator of the site you are "
            + "trying to access.", status: 500)
}
