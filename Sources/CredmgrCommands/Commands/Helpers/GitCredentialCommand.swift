import CredentialCore
import OAuth

/// `credmgr git-credential`: what git asks its credential helpers (gitcredentials(7)).
struct GitCredentialCommand: Command {
    let arguments: ParsedArguments

    /// A message of git is some lines.
    private static let inputLimit = 1 << 20
    /// What servers take that look only at the token; GitLab insists on it.
    private static let usualUsername = "oauth2"

    func run(_ session: Session) throws(CredentialError) {
        switch try arguments.required("operation") {
        case "get": try get(session)
        case "erase": try erase(session)
        case "capability": try session.print("version 0\ncapability authtype\n")
        // Tokens come from a sign-in only, so there is nothing to store; operations of later versions of git are
        // passed over, as gitcredentials(7) demands.
        default: break
        }
    }

    private func get(_ session: Session) throws(CredentialError) {
        let message = try message(session)
        guard let target = try target(message, session) else { return }
        let answer = try TokenAccess(session).token(TokenQuery(), target)
        for warning in answer.warnings { session.notices.warning(warning) }
        let token = try TokenPresentation(answer, target).checkedToken()
        var lines: [String]
        if takesBearer(message) {
            lines = ["capability[]=authtype", "authtype=Bearer", "credential=\(token)", "ephemeral=1"]
        } else {
            let username = message.address.flatMap { HostTarget(session).username($0, target.type) }
            lines = ["username=\(message["username"] ?? username ?? Self.usualUsername)", "password=\(token)"]
        }
        lines.append("password_expiry_utc=\(answer.token.expiresAt.epochSeconds)")
        try session.print(lines.joined(separator: "\n") + "\n")
    }

    /// The server took the token for a bad one: if it still is the one at hand, the next is a new one. The sign-in
    /// stays: that a token was refused does not say that the account is gone.
    private func erase(_ session: Session) throws(CredentialError) {
        let message = try message(session)
        guard let refused = message["password"] ?? message["credential"],
            let target = try target(message, session)
        else { return }
        var query = TokenQuery()
        let token = try TokenAccess(session).token(query, target).token.token
        guard ConstantTime.equal(Array(token.reveal().utf8), Array(refused.utf8)) else { return }
        query.forceRefresh = true
        _ = try TokenAccess(session).token(query, target)
    }

    private func message(_ session: Session) throws(CredentialError) -> GitCredentialMessage {
        try GitCredentialMessage(try session.context.console.readInput(limit: Self.inputLimit))
    }

    /// The account: the one that git names, if there is such a one, else the one that contract §5 chooses.
    private func target(
        _ message: GitCredentialMessage, _ session: Session
    ) throws(CredentialError) -> Target? {
        guard let address = message.address else { return nil }
        let options = TargetOptions(arguments)
        if options.account == nil, let username = message["username"] {
            var named = options
            named.account = username
            do throws(CredentialError) {
                return try HostTarget(session).find(address, named)
            } catch  where error.code == .noSuchAccount {
                // In `https://org@host/` the name is not an account's.
            }
        }
        return try HostTarget(session).find(address, options)
    }

    /// Whether git can send a bearer token and the server says that it takes one.
    private func takesBearer(_ message: GitCredentialMessage) -> Bool {
        message.list("capability[]").contains("authtype")
            && AuthenticationChallenge.parse(message.list("wwwauth[]")).contains { $0.scheme == "bearer" }
    }
}
