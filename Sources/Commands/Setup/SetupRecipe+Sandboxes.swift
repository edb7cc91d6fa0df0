import CredentialCore
import StrictJSON

/// Sandboxes and agents that run a command for a credential.
extension SetupRecipe {
    static let claudeCode = SetupRecipe(
        name: "claude-code", summary: "the apiKeyHelper of Claude Code", isByType: true, subject: \.type
    ) { (request, _) throws(CredentialError) in
        _ = try request.neededType()
        let folder = request.set("CLAUDE_CONFIG_DIR") ?? request.home + "/.claude"
        let line = request.line("token")
        return SetupPlan(
            edits: [
                .member(
                    JSONMember(name: "apiKeyHelper", value: JSONValue.string(line).text()),
                    path: folder + "/settings.json")
            ],
            proof: .init(program: "the apiKeyHelper", words: ["sh", "-c", line], output: ["\n"]),
            notes: ["not proven: that the API accepts the token from Claude Code"])
    }

    /// A capture of nono runs for each request: credmgr's cache answers, so no ended token is sent.
    static let nono = SetupRecipe(
        name: "nono", summary: "a cmd:// source in a profile of nono", isByType: true, subject: \.type
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType()
        let written = try request.needed("profile", "the file of nono's profile")
        let path = written.hasPrefix("/") ? written : (request.set("PWD") ?? "") + "/" + written
        guard path.hasPrefix("/") else {
            throw CredentialError(.usage, "--profile must be a path from the root")
        }
        let isThere = try programs.readFile(path) != nil
        guard request.isUndo || isThere else {
            throw CredentialError(
                .usage, "there is no file \(UntrustedText.shown(path))", hint: "create the profile first")
        }
        // nono makes variables of such names.
        let name = "credmgr_" + String(type.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        let command = JSONValue([request.command, "token"] + request.selection).text()
        let entry = "\"\(name)\": {\"command\": \(command), \"timeout_secs\": 30, \"cache_ttl_secs\": 0}"
        return SetupPlan(
            edits: [
                .json(
                    JSONInsertion(
                        member: "credential_capture", isArray: false, entry: entry, isPathChosen: true), path: path)
            ],
            proof: .init(
                program: "the command", words: [request.command, "token"] + request.selection, output: ["\n"]),
            notes: [
                "in a route of network.custom_credentials: \"credential_key\": \"cmd://\(name)\"",
                "not proven by nono itself",
            ])
    }

    static let sbx = SetupRecipe(
        name: "sbx", summary: "a secret of Docker Sandboxes by a command", subject: { $0.values["service"] }
    ) { (request, _) throws(CredentialError) in
        let service = try request.needed("service", "the service that sbx sends the token to, such as github")
        if !request.isUndo { _ = try request.neededType() }
        let secret = ["sbx", "secret"]
        return SetupPlan(
            edits: [
                .call(
                    SetupCall(
                        name: "sbx secret \(service)",
                        making: secret + [
                            "set", service, "--command", request.line("token"), "--refresh", "on-demand",
                        ],
                        removing: secret + ["rm", service], listing: secret + ["ls"],
                        isListed: { isListed(service, in: $0) }))
            ],
            proof: .init(
                program: "the command", words: [request.command, "token"] + request.selection, output: ["\n"]),
            notes: ["sandboxes that exist already do not get the secret", "not proven: that sbx sends the token"])
    }

    /// Whether the table of `sbx secret ls` has a service in one of its columns behind the scope.
    static func isListed(_ service: String, in table: String) -> Bool {
        table.split(whereSeparator: \.isNewline).contains { line in
            line.split(whereSeparator: \.isWhitespace).dropFirst().contains { $0 == service }
        }
    }
}
