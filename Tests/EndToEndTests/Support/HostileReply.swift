import Testing

/// A reply of a token endpoint that must not be believed.
struct HostileReply: Sendable, CustomTestStringConvertible {
    let kind: String
    let body: String

    var testDescription: String { kind }

    private init(_ kind: String, _ body: String) {
        self.kind = kind
        self.body = body
    }

    static let all = [
        HostileReply("no access token", #"{"token_type":"Bearer","expires_in":3600}"#),
        HostileReply("not JSON", "hello"),
        HostileReply("an array", "[]"),
        HostileReply("a name twice", #"{"access_token":"a","access_token":"b","token_type":"Bearer"}"#),
        HostileReply(
            "a token with a line break", #"{"access_token":"a\nb","token_type":"Bearer","expires_in":3600}"#),
        HostileReply("a token that is a number", #"{"access_token":7,"token_type":"Bearer","expires_in":3600}"#),
        HostileReply(
            "a type with a line break", #"{"access_token":"a","token_type":"Bearer\r\nX: y","expires_in":3600}"#),
        HostileReply("a type that nobody knows", #"{"access_token":"a","token_type":"mac","expires_in":3600}"#),
        HostileReply("a type that is a number", #"{"access_token":"a","token_type":7,"expires_in":3600}"#),
        HostileReply("a refresh token with a line break", #"{"access_token":"a","refresh_token":"r\n"}"#),
        HostileReply("a refresh token that is an object", #"{"access_token":"a","refresh_token":{}}"#),
        HostileReply("an id token that is a number", #"{"access_token":"a","id_token":7}"#),
        HostileReply("deep nesting", String(repeating: "[", count: 10_000)),
        HostileReply(
            "more than a megabyte", #"{"access_token":""# + String(repeating: "a", count: 1_100_000) + #""}"#),
        HostileReply("an empty token", #"{"access_token":"","token_type":"Bearer","expires_in":3600}"#),
    ]
}
