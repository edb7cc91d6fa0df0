import CommandLine
import CredentialCore
import FastToken
import OAuth
import StrictJSON

/// `credmgr cargo`: a credential provider of cargo (the Cargo Book, "Credential Provider Protocol").
struct CargoCommand: Command {
    static let spec = CommandSpec(
        ["cargo"], "run as a credential provider of cargo",
        details: """
            cargo runs this command under the name cargo-credential-credmgr and exchanges lines of JSON with it. \
            The token has the form 'Bearer TOKEN' if the index asks for this form, or with --bearer after the \
            provider's name.
            """,
        options: [plugin, SharedOption.type, SharedOption.account],
        examples: [
            .init("in .cargo/config.toml", #"credential-provider = ["cargo-credential-credmgr"]"#)
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let plugin = Option.flag("cargo-plugin", "set by cargo")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        try session.print(#"{"v":[1]}"# + "\n")
        while let line = try session.context.console.readInputLine() {
            if line.isEmpty { continue }
            try session.print(JSONValue.object(answer(line, session)).text() + "\n")
        }
    }

    /// The response to one request; errors are reported in the protocol's own way.
    private func answer(_ line: String, _ session: CommandSession) -> JSONObject {
        guard let request = (try? JSONValue.parse(line))?.object, request["v"]?.integer == 1,
            let index = request["registry"]?.object?["index-url"]?.string
        else { return Self.failure("other", "the request is not one of version 1") }
        guard request["kind"]?.string == "get" else { return Self.failure("operation-not-supported") }
        do throws(CredentialError) {
            // Another plus is part of the address, whose host is before it.
            let kind = ["sparse+", "registry+"].first(where: index.hasPrefix)
            let place = String(index.dropFirst(kind?.count ?? 0))
            guard let found = try CredentialHelper(session).credential(at: place, TargetOptions(arguments)) else {
                return Self.failure("url-not-supported")
            }
            let token = try found.shown.checkedToken()
            var answer = JSONObject()
            answer["kind"] = "get"
            answer["token"] = .string(wantsBearer(request) ? "Bearer \(token)" : token)
            answer["cache"] = "expires"
            answer["expiration"] = .integer(found.shown.bearerExpiresAt.epochSeconds)
            answer["operation_independent"] = true
            return JSONObject(["Ok": .object(answer)])
        } catch {
            session.notices.error(error)
            return Self.failure("other", error.message)
        }
    }

    private func wantsBearer(_ request: JSONObject) -> Bool {
        if request["args"]?.array?.contains(.string("--bearer")) == true { return true }
        let prefix = "www-authenticate:"
        let challenges = (request["registry"]?.object?["headers"]?.array ?? []).compactMap(\.string)
            .filter { $0.lowercased().hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        return AuthenticationChallenge.parse(challenges).contains { $0.scheme == "bearer" }
    }

    private static func failure(_ kind: String, _ message: String? = nil) -> JSONObject {
        var object = JSONObject()
        object["kind"] = .string(kind)
        if let message {
            object["message"] = .string(message)
            object["caused-by"] = .array([])
        }
        return JSONObject(["Err": .object(object)])
    }
}
