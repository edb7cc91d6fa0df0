import CommandLine
import CredentialCore

/// `credmgr demo`.
struct DemoCommand: Command {
    static let spec = CommandSpec(
        ["demo"], "try credmgr with a built-in provider",
        details: """
            Starts a provider like Azure AD B2C and a to-do service on localhost, in a temporary home directory. \
            It imports a settings.plist, signs in two users, lists, adds and deletes tasks, and shows single \
            sign-on between two tools. It ends by itself and removes all its files. With --hosts, several hosts, \
            each with its own home directory, share an account (docs/how-to/many-hosts.md) through real etcd nodes on \
            localhost.
            """,
        options: [browser, serve, hosts])

    private static let browser = Option.flag("browser", "sign in through the real browser")
    private static let serve = Option.flag(
        "serve", "only run the provider, until standard input ends, for manual tests")
    private static let hosts = Option.integer(
        "hosts", "N", in: 2...5, "demonstrate an account that N hosts share, with three etcd nodes")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let forms: [DemoMode] =
            (arguments[Self.browser] ? [.browser] : []) + (arguments[Self.serve] ? [.server] : [])
            + (arguments[Self.hosts].map { [.hosts(Int($0))] } ?? [])
        guard forms.count < 2 else {
            throw CredentialError(.usage, "--browser, --serve and --hosts exclude each other")
        }
        try session.context.demonstration.run(session, forms.first ?? .walkthrough)
    }
}
