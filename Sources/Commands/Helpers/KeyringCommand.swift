import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr keyring`: answers like the command of Python's keyring, which pip and uv run and twine imports.
struct KeyringCommand: Command {
    static let spec = CommandSpec(
        ["keyring"], "print a token as Python's keyring does",
        details: """
            Implements 'keyring get' for pip, uv and twine. The service is the URL or host of an index. If no rule \
            and no account type names the server, credmgr prints no token and exits with 1. Tokens come from \
            sign-ins, so credmgr refuses set and del.
            """,
        parameters: [operation, service, username],
        options: [mode, output, SharedOption.type, SharedOption.account],
        examples: [
            .init(
                "as pip runs it", "credmgr keyring --mode=creds --output=json get https://pypi.example.com/simple/")
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let operation = Parameter.required(
        "operation", .any("OPERATION", .words(["get"])), "get; set and del are refused")
    private static let service = Parameter.required("service", .any("SERVICE"), "the URL or host of the index")
    private static let username = Parameter.optional("username", .any("USER"), "the user name")
    private static let mode = Option.choice(
        "mode", "MODE", of: KeyringRequest.Mode.self, "the token alone, or user name and token on two lines")
    private static let output = Option.choice(
        "output", "FORMAT", of: KeyringRequest.Format.self, "the output format")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        guard arguments[Self.operation] == "get" else {
            throw CredentialError(
                .unsupported, "credmgr returns tokens of its accounts and stores no other credentials")
        }
        let request = KeyringRequest(
            service: arguments[Self.service], username: arguments[Self.username],
            mode: arguments[Self.mode] ?? .password, format: arguments[Self.output] ?? .plain)
        guard let text = try request.answer(TargetOptions(arguments), session) else {
            throw CredentialError(
                .noCredential, "no token for \(UntrustedText.shown(request.service, limit: 200))",
                hint: "use -v to see the reason")
        }
        try session.print(text)
    }
}

/// The command behind a link called `keyring`: it asks the real one for credentials that are not known here.
struct KeyringShimCommand: Command {
    /// The hidden command's name.
    static let word = ProgramAlias.keyringShim

    static let spec = CommandSpec(
        [word], role: .hidden, "act as keyring, and pass other requests to the real keyring", parameters: [words],
        runsProgram: true)

    private static let words = Parameter.variadic("words", .any("WORD"), "the arguments of keyring")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let words = arguments[Self.words]
        if let request = KeyringRequest(words), let text = try request.answer(TargetOptions(), session) {
            return try session.print(text)
        }
        guard let real = session.context.programs.otherProgram("keyring") else {
            throw CredentialError(
                .noCredential, "credmgr has no token for this service, and PATH has no other keyring")
        }
        let ending = try session.context.programs.accompany(
            [real] + words, variables: [:], meanwhile: {}, unattended: { _ in })
        try session.context.programs.end(like: ending)
    }
}

/// A call of `keyring get`.
struct KeyringRequest: Sendable {
    /// The parts of the credential that are printed.
    enum Mode: String, Sendable, CaseIterable {
        /// The token.
        case password
        /// User name and token.
        case creds
    }

    /// How it is printed.
    enum Format: String, Sendable, CaseIterable {
        /// Lines.
        case plain
        /// An object.
        case json
    }

    /// The index.
    let service: String
    private let username: String?
    private let mode: Mode
    private let format: Format

    /// The user name for indexes that check only the token.
    private static let usualUsername = "__token__"

    init(service: String, username: String?, mode: Mode, format: Format) {
        self.service = service
        // pip has no name at first.
        self.username = username.flatMap { $0.isEmpty ? nil : $0 }
        self.mode = mode
        self.format = format
    }

    /// Reads the words of a call; `nil` for anything but a plain `get`.
    init?(_ words: [String]) {
        var plain: [String] = [], mode = Mode.password, format = Format.plain
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("-") else {
                plain.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else { return nil }
            switch parts[0] {
            case "--mode":
                guard let known = Mode(rawValue: value) else { return nil }
                mode = known
            case "--output":
                guard let known = Format(rawValue: value) else { return nil }
                format = known
            default: return nil
            }
        }
        guard plain.first == "get", plain.count == 2 || plain.count == 3 else { return nil }
        self.init(service: plain[1], username: plain.count == 3 ? plain[2] : nil, mode: mode, format: format)
    }

    /// Returns the text to print; `nil` if no credential is given.
    func answer(_ options: TargetOptions, _ session: CommandSession) throws(CredentialError) -> String? {
        guard
            let found = try CredentialHelper(session).credential(at: service, username: username, options)
        else { return nil }
        let token = try found.shown.checkedToken(), name = found.username(usual: Self.usualUsername)
        switch (format, mode) {
        case (.plain, .password): return token + "\n"
        case (.plain, .creds): return "\(name)\n\(token)\n"
        case (.json, .password): return JSONValue.object(JSONObject(["password": .string(token)])).text() + "\n"
        case (.json, .creds):
            return JSONValue.object(JSONObject(["username": .string(name), "password": .string(token)])).text()
                + "\n"
        }
    }
}
