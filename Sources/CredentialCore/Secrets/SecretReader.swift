import StrictJSON

/// The source of a secret outside of the stores.
package enum SecretSource: Sendable, Hashable {
    /// In a file that only its owner can read, or behind a descriptor (`/dev/fd/N`, as a shell's `<(…)` names it).
    case file(String)
    /// In an environment variable.
    case environment(String)
    /// Printed by a command, run without a shell.
    case command([String])
    /// In a credential that systemd hands to a service (`LoadCredential=`, `LoadCredentialEncrypted=`;
    /// systemd.exec(5)).
    case systemdCredential(String)
    /// On standard input.
    case standardInput
    /// Typed by a person, after this prompt.
    case prompt(LocalizedMessage)
}

/// The purpose of reading a secret: it decides how much of the source counts, and the words of an error.
package struct SecretRequest: Sendable {
    /// The name of the secret and the part that asks for it: "the client_secret of account type Work", "the
    /// password (--password-file)".
    package var name: LocalizedMessage
    /// Whether all of the source is the secret; else the first line is.
    package var isText: Bool
    /// Whether a source with a second line is refused: it is another file than the one that was meant, and its
    /// content goes to a server.
    package var isOneLine: Bool
    /// Whether others may read its file: a file that a platform projects into a container is not for us to close.
    package var mayBeShared: Bool
    /// How its absence is reported: as a fault of the call, of a definition, or of a store that it should open.
    package var absence: ErrorCode
    /// The remedy if it is not there.
    package var hint: LocalizedMessage?

    /// Names a need.
    package init(
        _ name: LocalizedMessage, isText: Bool = false, isOneLine: Bool = false, mayBeShared: Bool = false,
        absence: ErrorCode = .configuration, hint: LocalizedMessage? = nil
    ) {
        self.name = name
        self.isText = isText
        self.isOneLine = isOneLine
        self.mayBeShared = mayBeShared
        self.absence = absence
        self.hint = hint
    }
}

/// The terminal and standard input, as far as secrets come from there.
package protocol SecretPrompt: Sendable {
    /// Asks for a line on the terminal; an empty answer is an empty secret.
    ///
    /// - Throws: ``ErrorCode/interrupted``, ``ErrorCode/inputOutput``.
    func ask(_ prompt: LocalizedMessage, isSecret: Bool) throws(CredentialError) -> Secret

    /// Reads one line of standard input, of at most 128 KiB, without its newline; `nil` at its end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/usage`` for a longer line.
    func readInputLine() throws(CredentialError) -> String?

    /// Reads standard input to its end, at most `limit` bytes.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/usage`` when there is more.
    func readInput(limit: Int) throws(CredentialError) -> [UInt8]
}

/// Reads secrets from the user's places for them: the only code that does.
///
/// One rule for files: a secret that others can read is not secret. It is refused as a fault of the configuration
/// (exit 2), from any source that names the file. One error: it names the secret and who asked for it.
package struct SecretReader: Sendable {
    /// How long a command may take, in seconds, at most.
    private static let commandSeconds = 10
    private static let limit = 1 << 20

    private let environment: [String: String]
    private let files: any DefinitionStore
    private let programs: any ProcessRunner
    private let console: (any SecretPrompt)?
    private let seconds: Int

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - console: terminal and standard input; `nil` if they are not ours to read.
    ///   - timeout: how long the caller waits for a command, in seconds; `nil` for as long as one may take.
    package init(
        environment: [String: String], files: any DefinitionStore, programs: any ProcessRunner,
        console: (any SecretPrompt)? = nil, timeout: Int? = nil
    ) {
        seconds = min(Self.commandSeconds, timeout ?? Self.commandSeconds)

        self.environment = environment
        self.files = files
        self.programs = programs
        self.console = console
    }

    /// The secret; never an empty one.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a file that others can read; the need's own code if it is not
    ///   available; ``ErrorCode/interrupted`` and ``ErrorCode/inputOutput`` of the terminal.
    package func read(_ source: SecretSource, for need: SecretRequest) throws(CredentialError) -> Secret {
        if case .prompt(let prompt) = source {
            guard let console else { throw absent(need, "cannot prompt without a terminal") }
            return try console.ask(prompt, isSecret: true)
        }
        var bytes = try content(of: source, need)
        // As far as Swift's arrays allow, no second copy of the secret is left behind.
        defer { for index in bytes.indices { bytes[index] = 0 } }
        // An editor's byte order mark is no part of the secret, either.
        let start = bytes.starts(with: ByteOrderMark.bytes) ? ByteOrderMark.bytes.count : 0
        var end = bytes.endIndex
        if need.isText {
            // Only the line ends at the end of a file are not part of the secret.
            while end > start, Self.endsLine(bytes[end - 1]) { end -= 1 }
        } else {
            end = bytes.firstIndex(where: Self.endsLine) ?? end
        }
        guard !need.isOneLine || !bytes[start..<end].contains(where: Self.endsLine) else {
            throw absent(need, "\(Self.shown(source)) has more than one line")
        }
        guard let text = String(validating: bytes[start..<end], as: UTF8.self) else {
            throw absent(need, "\(Self.shown(source)) is not text in UTF-8")
        }
        guard !text.isEmpty else { throw absent(need, "\(Self.shown(source)) is empty") }
        return Secret(text)
    }

    private static func endsLine(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    private func content(of source: SecretSource, _ need: SecretRequest) throws(CredentialError) -> [UInt8] {
        switch source {
        case .file(let path): return try file(path, need)
        case .environment(let name):
            guard let value = environment[name] else {
                throw absent(need, "the variable \(UntrustedText.shown(name, limit: 80)) is not set")
            }
            return Array(value.utf8)
        case .command(let words): return try output(of: words, need)
        case .systemdCredential(let name):
            guard let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/") else {
                throw absent(need, "systemd passed no credentials to this service")
            }
            // The mode is systemd's business: for services of other users the file has an access control list,
            // which looks like a group that may read.
            guard let file = try read("\(folder)/\(name)", need) else {
                throw absent(need, "systemd credential \(name) not found")
            }
            return file.bytes
        case .standardInput:
            guard let console else { throw absent(need, "standard input is not read here") }
            guard need.isText else { return Array((try console.readInputLine() ?? "").utf8) }
            return try console.readInput(limit: Self.limit)
        case .prompt: return []
        }
    }

    private func file(_ written: String, _ need: SecretRequest) throws(CredentialError) -> [UInt8] {
        let home = environment["HOME"] ?? ""
        let path = written.hasPrefix("~/") && home.hasPrefix("/") ? home + written.dropFirst() : written
        guard let file = try read(path, need) else {
            throw absent(need, "there is no file \(UntrustedText.shown(path))")
        }
        guard file.isPrivate || need.mayBeShared else {
            throw CredentialError(
                .configuration, "\(need.name): others can read the file \(UntrustedText.shown(path))",
                hint: "chmod 600 \(ShellQuoting.word(path))")
        }
        return file.bytes
    }

    private func read(_ path: String, _ need: SecretRequest) throws(CredentialError) -> DefinitionFile? {
        do throws(CredentialError) { return try files.read(path) } catch {
            throw CredentialError(
                need.absence, "\(need.name): \(error)", hint: error.advice, details: error.details)
        }
    }

    private func output(of words: [String], _ need: SecretRequest) throws(CredentialError) -> [UInt8] {
        let result: ProcessResult
        do throws(CredentialError) { result = try programs.run(words, seconds: seconds) } catch {
            if error.code == .interrupted { throw error }
            throw CredentialError(need.absence, "\(need.name): \(error)", hint: error.advice ?? need.hint)
        }
        guard result.exitStatus == 0 else {
            throw absent(
                need, "the command \(UntrustedText.shown(words.first ?? "")) ended with \(result.exitStatus)")
        }
        return result.output
    }

    private func absent(_ need: SecretRequest, _ reason: LocalizedMessage) -> CredentialError {
        CredentialError(need.absence, "\(need.name): \(reason)", hint: need.hint)
    }

    private static func shown(_ source: SecretSource) -> LocalizedMessage {
        switch source {
        case .file(let path): "the file \(UntrustedText.shown(path))"
        case .environment(let name): "the variable \(UntrustedText.shown(name, limit: 80))"
        case .command(let words): "the output of the command \(UntrustedText.shown(words.first ?? ""))"
        case .systemdCredential(let name): "systemd's credential \(name)"
        case .standardInput: "standard input"
        case .prompt: "the input"
        }
    }
}
