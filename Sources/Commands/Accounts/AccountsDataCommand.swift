import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr accounts data`: data that programs keep of their own beside an account.
struct AccountsDataCommand: Command {
    static let spec = CommandSpec(
        ["accounts", "data"], "show or replace the data of programs for an account",
        details: """
            Prints the JSON object that programs of the Swift library store with an account. The object is as \
            secret as the account's tokens. --set replaces the object. It moves with the account, and is deleted \
            with the account.
            """,
        parameters: [account], options: [SharedOption.type, set],
        examples: [.init("replace the object with a file", "credmgr accounts data ann --set @data.json")],
        exitStatuses: [3, 5, 6])

    private static let account = Parameter.required(
        "account", .account, "its ID or an ID prefix, username, subject or label")
    private static let set = Option.value(
        "set", .any("JSON"), "the new object: the text, or @FILE; @- for standard input")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        // The hint does not repeat a secret; the name of a file is not a secret.
        let file = arguments[Self.set].flatMap { $0.hasPrefix("@") ? $0 : nil }
        let (group, account) = try AccountFinder(session).account(
            arguments[Self.account], type: arguments[SharedOption.type],
            in: (["accounts", "data"], file.map { ["--set", $0] } ?? []))
        let data = session.services(session.stores()).userData
        guard let text = arguments[Self.set] else {
            return try session.print(.object(try data.read(of: account, in: group)))
        }
        guard let object = try RequestMessage.value(of: text, option: "set", session).object else {
            throw CredentialError(.usage, "the value of --set must be a JSON object")
        }
        try data.write(object, of: account, in: group)
    }
}
