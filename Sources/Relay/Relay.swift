package import CredentialCore
package import Platform

/// `credmgr relay`: runs a command in a sandbox, and joins the programs there to a broker's socket.
///
/// It reads no configuration. Its only authority is the socket.
package struct Relay {
    private let arguments: RelayArguments
    private let environment: [String: String]
    private let warn: (CredentialError) -> Void

    /// For how long the first replies are waited for, in milliseconds: the user may be asked for consent.
    private static let patience: Int64 = 120_000
    /// For how long `hello` is waited for, in milliseconds.
    private static let shortPatience: Int64 = 10_000

    /// Makes a relay.
    ///
    /// - Parameters:
    ///   - environment: that of the caller.
    ///   - warn: reports to the user the failures that occur while the command runs.
    package init(
        _ arguments: RelayArguments, environment: [String: String], warn: @escaping (CredentialError) -> Void
    ) {
        self.arguments = arguments
        self.environment = environment
        self.warn = warn
    }

    /// Runs the command, until it has ended and its token files are gone.
    ///
    /// - Parameter caller: the settings that the command gets back.
    /// - Returns: how the command ended.
    /// - Throws: before the command is started: ``ErrorCode/usage`` for a command that does not exist and for a
    ///   token file that exists; the broker's errors; ``ErrorCode/inputOutput``.
    package func run(caller: InheritedSettings?) throws(CredentialError) -> TerminationStatus {
        guard let path = ExecutablePath.find(arguments.command[0], environment: environment) else {
            throw CredentialError(
                .usage, "no program '\(UntrustedText.shown(arguments.command[0]))' that can be run")
        }
        let socket =
            arguments.socket ?? Self.nonEmpty(environment["CREDMGR_SOCK"]) ?? RelayArguments.usualSocket
        let address = BrokerAddress(socket, user: Self.nonEmpty(environment["CREDMGR_SOCK_UID"]))
        let hello = BrokerHello(
            try RelayReply.members(try address.ask(BrokerHello.line, milliseconds: Self.shortPatience)))
        let door = try LoopbackDoor(
            port: arguments.port, checksUser: hello.sharesLoopback(with: NetworkNamespace.own))
        let secret = SystemRandom().secretOfRun()
        var launch = SpawnConfiguration(path, Array(arguments.command.dropFirst()), environment: environment)
        for variable in hello.variables(port: door.port, secret: secret, socket: socket) {
            launch.environment[variable.name] = variable.value
        }
        launch.callerSettings = caller
        // The program at the other end of standard error may go at any time.
        BrokenPipes.ignore()
        var answers: [(request: TokenFileRequest, path: String, answer: TokenFileRequest.Answer)] = []
        for file in arguments.files { answers.append(try answer(for: file, from: address)) }
        // From the first file on, a signal must not end this process before the files are removed.
        let held = HeldSignals()
        var files: [RelayFile] = []
        defer { remove(files) }
        var errands: [RelayErrand] = []
        let greeting = Array("{\"op\":\"via\",\"v\":1,\"secret\":\"\(secret)\"}\n".utf8)
        let command: ForegroundChild
        do throws(CredentialError) {
            for (request, path, answer) in answers {
                let file = try RelayFile(path, answer.content)
                files.append(file)
                errands.append(errand(request, path, file, due: SystemTime.sinceBoot + answer.pause))
            }
            command = try ForegroundChild(starting: launch)
        } catch {
            remove(files)
            files = []
            held.release()
            throw error
        }
        var loop = RelayLoop(door, to: address, greeting: greeting, errands: errands, warn: warn)
        return try loop.run(beside: command)
    }

    /// Asks for the first token of a file.
    private func answer(
        for file: RelayArguments.TokenFile, from address: BrokerAddress
    ) throws(CredentialError) -> (request: TokenFileRequest, path: String, answer: TokenFileRequest.Answer) {
        let request = TokenFileRequest(file)
        do throws(CredentialError) {
            let line = try address.ask(request.line, milliseconds: Self.patience)
            return (request, file.path, try request.answer(line, now: SystemClock().now))
        } catch {
            throw CredentialError(
                error.code, "the token for the file \(UntrustedText.shown(file.path)) is missing: \(error)",
                hint: error.advice)
        }
    }

    /// Keeps a file's token valid; it reports a failure unless the request before failed in the same way.
    private func errand(
        _ request: TokenFileRequest, _ path: String, _ file: RelayFile, due: Int64
    ) -> RelayErrand {
        let warn = warn
        var told = ""
        return RelayErrand(request.line, due: due) { line in
            do throws(CredentialError) {
                guard let line else { throw CredentialError(.temporary, "the broker does not reply") }
                let answer = try request.answer(line, now: SystemClock().now)
                try file.replace(answer.content)
                told = ""
                return answer.pause
            } catch {
                if error.message != told {
                    warn(
                        CredentialError(
                            error.code,
                            "the token file \(UntrustedText.shown(path)) is not renewed: \(error)"))
                }
                told = error.message
                return TokenFileRequest.pause(after: line)
            }
        }
    }

    private func remove(_ files: [RelayFile]) {
        for file in files {
            do throws(CredentialError) { try file.remove() } catch { warn(error) }
        }
    }

    private static func nonEmpty(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
}

extension SystemRandom {
    /// 128 bits as 32 hexadecimal digits.
    fileprivate func secretOfRun() -> String { accountID() + accountID() }
}
