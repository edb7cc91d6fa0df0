import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr docker-credential`: the protocol of docker-credential-helpers. Tokens come from sign-ins, so `store` is
/// refused, and `erase` leaves the sign-in as it is.
struct DockerCredentialCommand: Command {
    static let spec = CommandSpec(
        ["docker-credential"], "run as a credential helper of docker",
        details: """
            A credential helper of docker, as docker-credential-credmgr in its search path. A registry gets a \
            token under the conditions of git-credential. The helper stores no credentials, so do not use 'docker \
            login' for these registries. 'erase' does not change the account.
            """,
        parameters: [operation],
        options: [SharedOption.type, SharedOption.account],
        examples: [
            .init(
                "in ~/.docker/config.json", "{\"credHelpers\": {\"registry.example.com\": \"credmgr\"}}")
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    static let operation = Parameter.required(
        "operation", .any("OPERATION", .words(["get", "store", "erase", "list"])),
        "get, store, erase or list")

    let arguments: Arguments

    static let inputLimit = 1 << 16
    /// The user name for registries that check only the token.
    private static let usualUsername = "oauth2"
    /// The client looks for these very words.
    static let notFound = "credentials not found in native keychain"
    private static let noServer = "no credentials server URL"

    func run(_ session: CommandSession) throws(CredentialError) {
        do throws(CredentialError) {
            switch arguments[Self.operation] {
            case "get": try get(session)
            case "list": try list(session)
            case "version": try session.print("credmgr \(Program.version)\n")
            case "erase": _ = try session.context.console.readInput(limit: Self.inputLimit)
            default:
                throw CredentialError(
                    .unsupported,
                    "credmgr returns tokens of its accounts to docker and stores no other credentials",
                    hint: "use another helper for this registry: credHelpers in ~/.docker/config.json")
            }
        } catch {
            // Docker shows its user the text of standard output.
            try session.print(error.message + "\n")
            throw error
        }
    }

    private func get(_ session: CommandSession) throws(CredentialError) {
        let server = try Self.server(session)
        guard let found = try CredentialHelper(session).credential(at: server, TargetOptions(arguments)) else {
            throw CredentialError(.noSuchAccount, LocalizedMessage(verbatim: Self.notFound))
        }
        let credentials: JSONValue = [
            "ServerURL": .string(server),
            "Username": .string(found.username(usual: Self.usualUsername)),
            "Secret": .string(try found.shown.checkedToken()),
        ]
        try session.print(credentials.text() + "\n")
    }

    /// The servers that rules name; those of `api_base` and `api_origins` are APIs and need not be registries.
    private func list(_ session: CommandSession) throws(CredentialError) {
        var servers = JSONObject()
        for (place, username) in TargetResolver(session).authority.places {
            servers[place.description] = .string(username ?? Self.usualUsername)
        }
        try session.print(JSONValue.object(servers).text() + "\n")
    }

    static func server(_ session: CommandSession) throws(CredentialError) -> String {
        let bytes = try session.context.console.readInput(limit: inputLimit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CredentialError(.usage, "the server's URL on standard input is not UTF-8")
        }
        let server = text.drop(while: \.isWhitespace)
        guard let end = server.lastIndex(where: { !$0.isWhitespace }) else {
            throw CredentialError(.usage, LocalizedMessage(verbatim: noServer))
        }
        return String(server[...end])
    }
}
