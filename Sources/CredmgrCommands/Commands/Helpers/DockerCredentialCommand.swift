import CredentialCore
import StrictJSON

/// `credmgr docker-credential`: the protocol of docker-credential-helpers. Tokens come from sign-ins, so `store` is
/// refused, and `erase` leaves the sign-in as it is.
struct DockerCredentialCommand: Command {
    let arguments: ParsedArguments

    private static let inputLimit = 1 << 16
    /// What registries take that look only at the token.
    private static let usualUsername = "oauth2"
    /// The client looks for these very words.
    private static let notFound = "credentials not found in native keychain"
    private static let noServer = "no credentials server URL"

    func run(_ session: Session) throws(CredentialError) {
        do throws(CredentialError) {
            switch try arguments.required("operation") {
            case "get": try get(session)
            case "list": try list(session)
            case "version": try session.print("credmgr \(Program.version)\n")
            case "erase": _ = try session.context.console.readInput(limit: Self.inputLimit)
            default:
                throw CredentialError(
                    .unsupported, "credmgr gives tokens of its accounts to docker and keeps no other credentials",
                    hint: "use another helper for this registry: credHelpers in ~/.docker/config.json")
            }
        } catch {
            // Docker shows its user what stands on standard output.
            try session.print(error.message + "\n")
            throw error
        }
    }

    private func get(_ session: Session) throws(CredentialError) {
        let server = try server(session)
        let written = server.contains("://") ? server : "https://" + server
        guard let address = WebAddress(written),
            let target = try HostTarget(session).find(address, TargetOptions(arguments))
        else { throw CredentialError(.noSuchAccount, Self.notFound) }
        let answer = try TokenAccess(session).token(TokenQuery(), target)
        let credentials: JSONValue = [
            "ServerURL": .string(server),
            "Username": .string(HostTarget(session).username(address, target.type) ?? Self.usualUsername),
            "Secret": .string(try TokenPresentation(answer, target).checkedToken()),
        ]
        try session.print(credentials.text() + "\n")
    }

    /// The servers that rules name; those of `api_base` and `api_origins` are APIs and need not be registries.
    private func list(_ session: Session) throws(CredentialError) {
        var servers = JSONObject()
        for rule in session.configuration.rules {
            guard let host = rule.host, servers[host] == nil else { continue }
            servers[host] = .string(rule.username ?? Self.usualUsername)
        }
        try session.print(JSONValue.object(servers).text() + "\n")
    }

    private func server(_ session: Session) throws(CredentialError) -> String {
        let bytes = try session.context.console.readInput(limit: Self.inputLimit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CredentialError(.usage, "the server's URL on standard input is not UTF-8")
        }
        let server = text.drop(while: \.isWhitespace)
        guard let end = server.lastIndex(where: { !$0.isWhitespace }) else {
            throw CredentialError(.usage, Self.noServer)
        }
        return String(server[...end])
    }
}
