import CommandLine
import CredentialCore
import FastToken
import OAuth

/// `credmgr git-credential`: the requests of git to its credential helpers (gitcredentials(7)).
struct GitCredentialCommand: Command {
    static let spec = CommandSpec(
        ["git-credential"], "run as a credential helper of git",
        details: """
            Provides tokens to git as a credential helper. A server gets a token only if api_base or api_origins \
            of an account type, or a rule of config.json, names its host. For other servers, git asks its next \
            helper. If a server refuses a token, credmgr refreshes the token. It stores no credentials.
            """,
        parameters: [operation],
        options: [SharedOption.type, SharedOption.account],
        examples: [
            .init(
                "for one server",
                "git config --global credential.https://git.example.com.helper '!credmgr git-credential'"),
            .init("installed as git-credential-credmgr", "git config --global credential.helper credmgr"),
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    static let operation = Parameter.required(
        "operation", .any("OPERATION", .words(["get", "store", "erase"])), "get, store or erase")

    let arguments: Arguments

    /// The user name for servers that check only the token; GitLab requires it.
    private static let usualUsername = "oauth2"

    func run(_ session: CommandSession) throws(CredentialError) {
        switch arguments[Self.operation] {
        case "get": try get(session)
        case "erase": try erase(session)
        case "capability": try session.print("version 0\ncapability authtype\n")
        // Tokens come from a sign-in only, so there is no token to store; operations of later versions of git are
        // passed over, as gitcredentials(7) demands.
        default: break
        }
    }

    private func get(_ session: CommandSession) throws(CredentialError) {
        let bytes = try input(session), message = try GitCredentialMessage(bytes)
        guard let (query, target) = try target(message, session) else { return }
        let username =
            takesBearer(message)
            ? nil : CredentialHelper(session).username(query, target, usual: Self.usualUsername)
        let words = CallSignature(
            group: session.options.group?.name, type: arguments[SharedOption.type],
            account: arguments[SharedOption.account], asker: .git(message: bytes))
        let answer = try TokenAcquirer(session).token(
            TokenQuery(), target, for: MemoizedCall(words: words, gitUsername: username))
        TokenAcquirer(session).tell(answer)
        try session.context.console.writeResult(
            try TokenOutput(answer, target).gitCredential(username: username))
    }

    /// The server took the token for a bad one: if it still is the one at hand, the next is a new one. The sign-in
    /// stays: that a token was refused does not say that the account is gone.
    private func erase(_ session: CommandSession) throws(CredentialError) {
        let message = try GitCredentialMessage(try input(session))
        guard let refused = message["password"] ?? message["credential"],
            let (_, target) = try target(message, session)
        else { return }
        var query = TokenQuery()
        let answer = try TokenAcquirer(session).token(query, target)
        guard ConstantTime.equal(Array(answer.token.token.reveal().utf8), Array(refused.utf8)) else { return }
        // The token was to be renewed just now: the failed step is not tried again at once.
        if let failure = answer.failure { throw failure }
        query.forceRefresh = true
        _ = try TokenAcquirer(session).token(query, target)
    }

    private func input(_ session: CommandSession) throws(CredentialError) -> [UInt8] {
        try session.context.console.readInput(limit: FastToken.messageLimit)
    }

    private func target(
        _ message: GitCredentialMessage, _ session: CommandSession
    ) throws(CredentialError) -> (CredentialHelper.Query, Target)? {
        let front = CredentialHelper(session)
        guard let destination = message.destination else {
            front.noDestination("\(message["protocol"] ?? "")://\(message["host"] ?? "")")
            return nil
        }
        let query = CredentialHelper.Query(destination: destination, username: message["username"])
        return try front.target(query, TargetOptions(arguments)).map { (query, $0) }
    }

    /// Whether git can send a bearer token and the server says that it takes one.
    private func takesBearer(_ message: GitCredentialMessage) -> Bool {
        message.list("capability[]").contains("authtype")
            && AuthenticationChallenge.parse(message.list("wwwauth[]")).contains { $0.scheme == "bearer" }
    }
}
