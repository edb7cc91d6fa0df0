import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr google`: the command that Google's libraries run for executable-sourced credentials (workload identity
/// federation, google.aip.dev/auth/4117).
struct GoogleCommand: Command {
    static let spec = CommandSpec(
        ["google"], "print a token for Google's executable-sourced credentials",
        details: """
            Google's libraries run this command if a credential file of the type external_account names it as \
            executable, and the libraries' variable allows executables. It prints the account's ID token. It also \
            reports a failure in the response.
            """,
        options: [SharedOption.type, SharedOption.account, SharedOption.policy, SharedOption.scope],
        examples: [.init("as a library runs it", "credmgr google --type Work")], exitStatuses: [3, 4, 5, 6, 7])

    private static let tokenTypeVariable = "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"
    private static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
    private static let known = [idTokenType, "urn:ietf:params:oauth:token-type:jwt"]

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        var answer = JSONObject()
        answer["version"] = 1
        do throws(CredentialError) {
            let type = GlobalOptions.set(Self.tokenTypeVariable, session.context.environment) ?? Self.idTokenType
            guard Self.known.contains(type) else {
                throw CredentialError(
                    .unsupported, "token type \(UntrustedText.shown(type, limit: 100)) is not supported")
            }
            var query = TokenQuery(arguments, configuration: session.configuration)
            query.wantsIDToken = true
            let shown = try token(query, session)
            answer["success"] = true
            answer["token_type"] = .string(type)
            answer["id_token"] = .string(try shown.checkedToken())
            answer["expiration_time"] = .integer(shown.bearerExpiresAt.epochSeconds)
        } catch {
            answer["success"] = false
            answer["code"] = .string(error.code.rawValue)
            answer["message"] = .string(error.message)
            try session.print(JSONValue.object(answer).text() + "\n")
            throw error
        }
        try session.print(JSONValue.object(answer).text() + "\n")
    }

    private func token(_ query: TokenQuery, _ session: CommandSession) throws(CredentialError) -> TokenOutput {
        if let client = SocketClient(session) { return try client.token(query) }
        let target = try TargetResolver(session).target(query.target)
        let given = try TokenAcquirer(session).token(query, target)
        TokenAcquirer(session).tell(given)
        return try TokenOutput(given, target, wantsIDToken: true)
    }
}
