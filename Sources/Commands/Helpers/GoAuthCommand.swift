import CommandLine
import CredentialCore

/// `credmgr goauth`: the command that `go` runs for `GOAUTH` (`go help goauth`).
struct GoAuthCommand: Command {
    static let spec = CommandSpec(
        ["goauth"], "print credentials for the go command (GOAUTH)",
        details: """
            With GOAUTH="credmgr goauth", the go command asks for the credentials of a URL after a server has \
            refused the URL. credmgr prints the token as bearer, or as the password of the user that a rule of \
            config.json names. The token applies to the origin, or to the path of the rule.
            """,
        parameters: [url], options: [SharedOption.type, SharedOption.account],
        examples: [.init("for private modules", "export GOAUTH='credmgr goauth'")],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let url = Parameter.optional(
        "url", .any("URL"), "the URL; without a URL, credmgr prints no credentials")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        // Before anything was asked, go calls without a URL: no server is known to want a token.
        guard let url = arguments[Self.url] else { return }
        let front = CredentialHelper(session)
        // Of mail servers, and of names without a scheme, go has no header fields to send to.
        guard let address = URI(url), address.isWeb else { return front.noDestination(url) }
        let options = TargetOptions(arguments)
        guard let found = try front.credential(at: url, options) else { return }
        // go asks once for each prefix, and adds to it in whole components: a prefix with a slash at the end would
        // never match.
        let path = front.widestPath(of: address, found, options)
        try session.print("\(address.origin)\(path)\n\nAuthorization: \(try found.authorization())\n\n")
    }
}
