import CommandLine
import CredentialCore

/// `credmgr notify`: for a timer of the desktop.
struct NotifyCommand: Command {
    static let spec = CommandSpec(
        ["notify"], "show notifications of grants that have expired or expire soon",
        details: """
            Shows a notification for each account that has to sign in again, or whose grant ends within three \
            days, once a day. The action of the notification signs the user in again. The command ends when the \
            last notification is closed. It shows no notifications without a session bus or notify-send, or with \
            "notifications": "off" in config.json.
            """,
        examples: [.init("by the timer of the package", "systemctl --user enable --now credmgr-notify.timer")],
        exitStatuses: [])

    /// How many seconds before its end a sign-in gets a notification.
    private static let warningTime: Int64 = 3 * 86_400
    private static let day: Int64 = 86_400
    /// How long an unanswered notification is waited for.
    private static let waitingSeconds = 12 * 3_600

    /// Shows a notification for each summary, text, and words of a sign-in, side by side, and signs in if the user
    /// chose that. The label of the action comes first.
    private static let script = #"""
        action=$1
        shift
        while [ $# -gt 2 ]; do
            (if [ "$(notify-send --app-name=credmgr --icon=credmgr --action=login="$action" -- "$1" "$2")" = login ]
            then eval "$3"; fi) >/dev/null &
            shift 3
        done
        wait
        """#

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        guard session.configuration.notifies else { return }
        let programs = session.context.programs, translations = session.context.console.translations
        guard hasBus(session) else { return session.notices.detail("there is no session bus to notify by") }
        guard programs.isProgram("notify-send") else {
            return session.notices.warning("cannot show notifications: notify-send is not installed")
        }
        var words: [String] = []
        let accounts = try session.accounts(of: nil) { session.notices.warning($1.text) }
        for (group, account) in accounts {
            guard let text = text(about: account, session), try isDue(account, session) else { continue }
            var command = LoginHint(for: account, in: group)
            // The user would not see the code: the browser is at hand here.
            if command.flow == .device { command.flow = nil }
            var login = command.description
            if login.hasPrefix("credmgr ") {
                login = ShellQuoting.word(programs.ownPath) + login.dropFirst("credmgr".count)
            }
            words += [
                "credmgr: \(UntrustedText.shown(account.shownName, limit: 80))",
                text.text(in: translations), login,
            ]
        }
        guard !words.isEmpty else { return }
        let action: LocalizedMessage = "Sign in"
        _ = try programs.run(
            ["sh", "-c", Self.script, "sh", action.text(in: translations)] + words, seconds: Self.waitingSeconds)
    }

    /// Returns the text to show; `nil` for an account that needs no notification.
    private func text(about account: Account, _ session: CommandSession) -> LocalizedMessage? {
        let type = UntrustedText.shown(account.type, limit: 80)
        if case .needsLogin = account.status { return "The grant for \(type) has expired." }
        guard let end = account.refreshExpiresAt,
            end.seconds(since: session.context.clock.now) < Self.warningTime
        else { return nil }
        return "The grant for \(type) expires on \(end.rfc3339.prefix(10))."
    }

    /// Whether no notification about it was shown for a day; saves that one is shown now.
    private func isDue(_ account: Account, _ session: CommandSession) throws(CredentialError) -> Bool {
        let environment = session.context.environment, programs = session.context.programs
        let named = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        guard let state = named ?? environment["HOME"].map({ $0 + "/.local/state" }) else { return false }
        let file = "\(state)/credmgr/notified/\(account.id)"
        let now = session.context.clock.now.epochSeconds
        let last = try programs.readFile(file).flatMap {
            Int64(String(decoding: $0, as: UTF8.self).prefix { $0 != "\n" })
        }
        if let last, last <= now, now - last < Self.day { return false }
        try programs.replaceFile(file, Array("\(now)\n".utf8), isProgram: false)
        return true
    }

    /// Whether there is a session bus; it is not started.
    private func hasBus(_ session: CommandSession) -> Bool {
        let environment = session.context.environment
        let address = environment["DBUS_SESSION_BUS_ADDRESS"] ?? ""
        if address.hasPrefix("unix:path=") {
            let path = address.dropFirst("unix:path=".count).prefix { $0 != "," && $0 != ";" }
            return session.context.programs.isThere(String(path))
        }
        if !address.isEmpty { return true }
        return environment["XDG_RUNTIME_DIR"].map { session.context.programs.isThere($0 + "/bus") } ?? false
    }
}
