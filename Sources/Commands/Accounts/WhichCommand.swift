import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr which`.
struct WhichCommand: Command {
    static let spec = CommandSpec(
        ["which"], "show the account that 'token' would use here",
        details: "Prints the account that 'token' would use in this directory and environment.",
        options: [SharedOption.type, explain, SharedOption.json],
        exitStatuses: [3])

    private static let explain = Option.flag("explain", "print the rule that chose the account, and its location")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let options = TargetOptions(type: arguments[SharedOption.type])
        let resolver = TargetResolver(session)
        let target = try resolver.target(options)
        let place = resolver.place(of: target, options)
        if arguments.wantsJSON {
            let index = try session.context.records.index(of: target.group, .none)
            var json =
                AccountPresentation(
                    target.account, group: target.group,
                    isDefault: DefaultAccounts.contain(target.account, index)
                ).json.object ?? JSONObject()
            json["type"] = .string(target.type.name)
            json["rule"] = .string(target.rule.rawValue)
            json["rule_file"] = JSONValue(place?.file)
            json["rule_line"] = JSONValue(place?.line.map(Int64.init))
            return try session.print(.object(json))
        }
        var line = "\(target.account.id)\t\(target.type.name)\t\(UntrustedText.shown(target.account.shownName))"
        if arguments[Self.explain] {
            line += "\tby \(target.rule.rawValue)"
            if target.rule != .configuration, place != nil { line += ", its type by a rule of config.json" }
            if let place { line += " (\(place))" }
        }
        try session.print(line + "\n")
    }
}
