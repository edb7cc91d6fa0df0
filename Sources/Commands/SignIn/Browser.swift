import CredentialCore
import OAuth

/// The user's browser, as a command opens it: if that does not work, a note reports it.
enum Browser {
    /// Opens an address.
    ///
    /// - Returns: whether it has started, and a file to be removed when the sign-in is over.
    static func open(_ address: URI, _ session: CommandSession) -> (isOpened: Bool, file: (any PrivateFile)?) {
        do throws(CredentialError) {
            return (true, try browser(session).open(address))
        } catch {
            session.notices.note("cannot start the browser (\(error)); open the address yourself")
            return (false, nil)
        }
    }

    /// Shows the result of a sign-in without a terminal.
    static func show(title: LocalizedMessage, text: LocalizedMessage, _ session: CommandSession) {
        do throws(CredentialError) {
            try browser(session).show(title: title, text: text)
        } catch {
            session.notices.note("cannot show the result in the browser: \(error)")
        }
    }

    private static func browser(_ session: CommandSession) -> SystemBrowser {
        SystemBrowser(
            session.context.programs, environment: session.context.environment,
            configured: session.configuration.browser, translations: session.context.console.translations)
    }
}
