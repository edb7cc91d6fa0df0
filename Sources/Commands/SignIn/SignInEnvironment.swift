import CommandLine
import CredentialCore

/// The place that a sign-in is made from: at a screen, or on a machine that the user has logged in to from another
/// one.
struct SignInEnvironment: Sendable {
    /// Whether a browser can be opened in view of the user.
    let hasScreen: Bool
    /// Whether the user sits at another machine, and no forwarding leads a browser here.
    let isRemote: Bool
    private let environment: [String: String]
    private let width: Int
    private let translations: any Translations

    init(_ session: CommandSession) {
        environment = session.context.environment
        width = session.context.console.width
        translations = session.context.console.translations
        let isNamed =
            GlobalOptions.set("BROWSER", session.context.environment) != nil || session.configuration.browser != nil
        let variables = session.context.environment
        func isSet(_ names: String...) -> Bool { names.contains { GlobalOptions.set($0, variables) != nil } }
        hasScreen = isNamed || isSet("DISPLAY", "WAYLAND_DISPLAY")
        isRemote = !hasScreen && isSet("SSH_CONNECTION", "SSH_TTY")
    }

    /// The command that brings a port of the other machine's loopback here (ssh(1), `-L`).
    func tunnel(port: UInt16) -> String {
        // The address and port of the client, then ours.
        let connection = (GlobalOptions.set("SSH_CONNECTION", environment) ?? "").split(separator: " ")
        var host = connection.count == 4 ? String(connection[2]) : "THIS_MACHINE"
        if let user = GlobalOptions.set("USER", environment) { host = "\(user)@\(host)" }
        let ssh = connection.count == 4 && connection[3] != "22" ? " -p \(connection[3])" : ""
        return "ssh -N -L \(port):127.0.0.1:\(port)\(ssh) \(ShellQuoting.word(host))"
    }

    /// The line that gives the reason of the wait, from the first second on; `nil` if no text must be painted over.
    func status(of seconds: Int) -> (Int64) -> String? {
        let repaints = TerminalCapabilities.repaints(environment)
        let (width, translations) = (width, translations)
        return { passed in
            guard repaints, passed > 0 else { return nil }
            let left = Self.minutes(Int64(seconds) - passed)
            let text: LocalizedMessage =
                "Waiting for the browser, \(left) left. You can paste the redirect URL here."
            return TextLayout.truncated(text.text(in: translations), to: max(1, width - 1))
        }
    }

    /// The same, printed once, if no text must be painted over.
    func staticStatus(of seconds: Int) -> LocalizedMessage? {
        let most = Self.minutes(Int64(seconds))
        return TerminalCapabilities.repaints(environment)
            ? nil : "Waiting for the browser, \(most) at most. You can paste the redirect URL here."
    }

    /// A time in seconds as `4:59`.
    static func minutes(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
