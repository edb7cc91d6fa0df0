import CredentialCore

/// How one program is set up.
struct SetupRecipe: Sendable {
    /// The program, as in the argument of `setup`.
    let name: String
    /// The action, on one line.
    let summary: String
    /// Whether the program asks for a server, so that a rule or a type must name it.
    var asksByHost = HostScope.never

    /// Whether the entry is for one account type and has its name.
    var isByType = false

    /// The name that tells several setups of the program apart in the record: a type, a service, a broker.
    /// `nil` for a program whose setups are found in its own files.
    var subject: (@Sendable (SetupRequest) -> String?)?

    /// Whether the setup is for a broker, which must be defined.
    var isForBroker = false

    /// When a program asks for a server.
    enum HostScope: Sendable {
        /// Never: its entry names the account.
        case never
        /// Only if `--host` names one.
        case whereNamed
        /// Always: `--host` has to be there.
        case always
    }

    /// Makes the plan.
    let plan: @Sendable (SetupRequest, any ProcessPort) throws(CredentialError) -> SetupPlan

    /// Every program, in the order of the list.
    static let all: [SetupRecipe] = [
        git, docker, kubectl, pip, cargo, terraform, bazel, go, npm, aws, google, azure, neomutt, msmtp, mbsync,
        timer, tokenSocket, redirectHandler, claudeCode, nono, sbx, broker, podman, devcontainer, sshHost,
    ]

    static func block(
        _ name: String, _ path: String, section: String? = nil, comment: String = "#", _ lines: [String],
        keys: [String] = [], sufficient: String? = nil
    ) -> SetupEdit {
        let block = ManagedBlock(
            name: name, comment: comment, section: section, lines: lines, keys: keys, sufficient: sufficient)
        return .block(block, path: path)
    }

    /// A call of the program through the shell, for an object that is not at the server.
    ///
    /// - Parameters:
    ///   - script: it gets `words` as its arguments; `~/.local/bin` is searched first.
    ///   - answers: texts that show that the server answered.
    ///   - refusals: texts that show that it did not, in addition to the responses 401 and 403.
    static func call(
        _ program: String, _ script: String, _ words: [String], answers: [String], refusals: [String] = []
    ) -> SetupPlan.Proof {
        .init(
            program: program,
            words: ["sh", "-c", "exec 2>&1 </dev/null; PATH=\"$HOME/.local/bin:$PATH\"; " + script, "sh"] + words,
            output: answers, refusals: SetupPlan.Proof.refused + refusals)
    }
}
