import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr terraform`: a credentials helper of Terraform and OpenTofu ("Credentials Helpers" in their
/// documentation).
struct TerraformCommand: Command {
    static let spec = CommandSpec(
        ["terraform"], "run as a credentials helper of Terraform",
        details: """
            Terraform runs this command under the name terraform-credentials-credmgr. It prints an object with the \
            token for a host, or an empty object. Tokens come from sign-ins, so credmgr refuses store, and forget \
            has no effect.
            """,
        parameters: [operation, host], options: [SharedOption.type, SharedOption.account],
        examples: [.init("as Terraform runs it", "credmgr terraform get app.terraform.io")],
        exitStatuses: [3, 4, 5, 6, 7])

    private enum Operation: String, CaseIterable, Sendable { case get, store, forget }

    private static let operation = Parameter.choice(
        "operation", "OPERATION", of: Operation.self, "the operation that Terraform requests")
    private static let host = Parameter.required("host", .any("HOST"), "the host, optionally with a port")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        switch arguments[Self.operation] {
        case .get, nil: try get(session)
        case .forget: break
        case .store:
            throw CredentialError(
                .unsupported,
                "credmgr returns tokens of its accounts to Terraform and stores no other credentials")
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
