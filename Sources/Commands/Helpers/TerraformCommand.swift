import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr terraform`: a credentials helper of Terraform and OpenTofu ("Credentials Helpers" in their documentation).
struct TerraformCommand: Command {
    static let spec = CommandSpec(
        ["terraform"], "answer Terraform as a credentials helper",
        details: """
            Terraform looks for it under the name terraform-credentials-credmgr. It prints an object with the token \
            for a host, or an empty one. Tokens come from sign-ins: store is refused, and forget does nothing.
            """,
        parameters: [operation, host], options: [SharedOption.type, SharedOption.account],
        examples: [.init("what Terraform asks", "credmgr terraform get app.terraform.io")],
        exitStatuses: [3, 4, 5, 6, 7])

    private enum Operation: String, CaseIterable, Sendable { case get, store, forget }

    private static let operation = Parameter.choice(
        "operation", "OPERATION", of: Operation.self, "what Terraform wants")
    private static let host = Parameter.required("host", .any("HOST"), "the host, perhaps with a port")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        switch arguments[Self.operation] {
        case .get, nil: try get(session)
        case .forget: break
        case .store:
            throw CredentialError(
                .unsupported, "credmgr gives tokens of its accounts to Terraform and keeps no other credentials")
        }
    }

    private func get(_ session: CommandSession) throws(CredentialError) {
        let front = CredentialHelper(session), host = arguments[Self.host]
        var object = JSONObject()
        if let destination = Destination(scheme: "https", authority: host) {
            let query = CredentialHelper.Query(destination: destination)
            if let found = try front.credential(query, TargetOptions(arguments)) {
                object["token"] = .string(try found.shown.checkedToken())
            }
        } else {
            front.noDestination(host)
        }
        try session.print(JSONValue.object(object).text() + "\n")
    }
}
