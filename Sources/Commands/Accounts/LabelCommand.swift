import CommandLine
import CredentialCore

/// `credmgr label`.
struct LabelCommand: Command {
    static let spec = CommandSpec(
        ["label"], "set the label of an account",
        parameters: [account, text], options: [SharedOption.type],
        exitStatuses: [3])

    private static let account = Parameter.required(
        "account", .account, "its ID or an ID prefix, username, subject or label")
    private static let text = Parameter.required("text", .any("TEXT"), "the label; an empty text removes it")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let text = arguments[Self.text]
        guard UntrustedText.shown(text, limit: 200) == text else {
            throw CredentialError(.usage, "a label must have at most 200 characters, all of them visible")
        }
        let (group, account) = try AccountFinder(session).account(
            arguments[Self.account], type: arguments[SharedOption.type],
            in: (["label"], text.hasPrefix("-") ? ["--", text] : [text]))
        let names = try session.context.records.index(of: group, .ids)
        let others = names.matches(for: text, of: nil).filter { $0.id != account.id }
        guard text.isEmpty || others.isEmpty else {
            throw CredentialError(.usage, "another account of group \(group) already has this name")
        }
        let now = session.context.clock.now
        try session.context.records.update(account.id, in: group) {
            $0.label = text.isEmpty ? nil : text
            $0.updatedAt = now
        }
        session.context.events.append(
            AccountEvent(
                kind: .accountUpdated, time: session.context.clock.now, group: group, type: account.type,
                account: account.id))
        session.notices.note(
            text.isEmpty
                ? "\(account.id) (\(UntrustedText.shown(account.username ?? account.subject))) "
                    + "no longer has a label"
                : "\(account.id) (\(UntrustedText.shown(account.username ?? account.subject))) "
                    + "now has the label \(text)"
        )
    }
}
