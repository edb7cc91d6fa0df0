import CommandLine
import CredentialCore

/// `credmgr demo`.
struct DemoCommand: Command {
    static let spec = CommandSpec(
        ["demo"], "try everything with a provider of its own",
        details: """
            Starts a provider like Azure AD B2C and a to-do service on loopback, in a throw-away home: imports a \
            settings.plist, signs two users in, lists, adds and deletes tasks and shows single sign-on between two \
            tools. It ends by itself and leaves nothing behind.
            """,
        options: [browser, serve])

    private static let browser = Option.flag("browser", "sign in through the real browser")
    private static let serve = Option.flag(
        "serve", "only run the provider, until standard input ends, to try things by hand")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        try session.context.demonstration.run(
            session, opensBrowser: arguments[Self.browser], servesOnly: arguments[Self.serve])
    }
}
