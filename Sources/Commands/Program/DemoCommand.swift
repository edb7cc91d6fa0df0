import CommandLine
import CredentialCore

/// `credmgr demo`.
struct DemoCommand: Command {
    static let spec = CommandSpec(
        ["demo"], "try everything with a provider of its own",
        details: """
            Starts a provider like Azure AD B2C and a to-do service on loopback, in a throw-away home: imports a \
            settings.plist, signs two users in, lists, adds and deletes tasks and shows single sign-on between two \
            tools. It ends by itself and leaves nothing behind. With --hosts it is a sign-in that several hosts share \
            (docs/how-to/many-hosts.md), each a home of its own, with real nodes of etcd on loopback.
            """,
        options: [browser, serve, hosts])

    private static let browser = Option.flag("browser", "sign in through the real browser")
    private static let serve = Option.flag(
        "serve", "only run the provider, until standard input ends, to try things by hand")
    private static let hosts = Option.integer(
        "hosts", "N", in: 2...5, "play a sign-in that N hosts share, with three nodes of etcd")

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
