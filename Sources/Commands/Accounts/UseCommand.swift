import CommandLine
import CredentialCore

/// `credmgr use`.
struct UseCommand: Command {
    static let spec = CommandSpec(
        ["use"], "make an account the default of its type",
        parameters: [account],
        options: [SharedOption.type],
        exitStatuses: [3])

    private static let account = Parameter.required("account", .account, "its id, username, subject or label")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let (group, account) = try AccountFinder(session).account(
            arguments[Self.account], type: arguments[SharedOption.type], in: (["use"], []))
        let type = arguments[SharedOption.type] ?? account.type
        try session.services(session.stores(mayPrompt: false)).choice.choose(account, in: group)
        session.context.events.append(
            AccountEvent(
                kind: .accountUpdated, time: session.context.clock.now, group: group, type: type,
                account: account.id))
        session.notices.note("\(account.id) (\(ForeignText.shown(account.shownName))) is the default of \(type)")
    }
}
