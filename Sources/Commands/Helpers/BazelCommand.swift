import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr bazel`: a credential helper of Bazel (github.com/EngFlow/credential-helper-spec).
struct BazelCommand: Command {
    static let spec = CommandSpec(
        ["bazel"], "run as a credential helper of Bazel",
        details: """
            Reads the request for a URI from standard input and prints its header fields: the token as bearer, or \
            as password of the user that a rule of config.json names. Without a token, it prints no header fields.
            """,
        parameters: [operation], options: [SharedOption.type, SharedOption.account],
        examples: [
            .init("a request of Bazel", #"echo '{"uri":"https://cache.example.com/"}' | credmgr bazel get"#)
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private enum Operation: String, CaseIterable, Sendable { case get }

    private static let operation = Parameter.choice("operation", "OPERATION", of: Operation.self, "get")
    private static let inputLimit = 1 << 20

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let input = try session.context.console.readInput(limit: Self.inputLimit)
        guard let uri = (try? JSONValue.parse(input))?.object?["uri"]?.string else {
            throw CredentialError(.usage, "standard input must be a credential helper request of Bazel")
        }
        var answer = JSONObject()
        var fields = JSONObject()
        if let found = try CredentialHelper(session).credential(at: uri, TargetOptions(arguments)) {
            fields["Authorization"] = .array([.string(try found.authorization())])
            answer["expires"] = .string(found.shown.bearerExpiresAt.rfc3339)
        }
        answer["headers"] = .object(fields)
        try session.print(JSONValue.object(answer).text() + "\n")
    }
}
