import Glibc

/// `credmgr exec` at a broker's socket: starts the command, and asks for another token before the current one ends.
enum SocketExec {
    /// Runs the command and ends as it did; comes back for a command that the full program has to report.
    static func run(
        _ call: FastPathArguments, _ words: CallSignature, _ program: FastPathArguments.Program,
        _ client: BrokerClient
    ) {
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) == -1 { return }
        let environment = ProcessEnvironment.variables()
        guard let path = ExecutablePath.find(program.words[0], environment: environment) else { return }
        do throws(CredentialError) {
            var token = try client.token(words, minValid: call.freshness.minimumValidity, now: SystemClock().now)
            let content = try token.bytes(as: call.format)
            let caller = InheritedSettings.replace()
            // An error is no place for the file, as its absence is.
            let file = (try? ExecTokenFile(runtime: environment["XDG_RUNTIME_DIR"])) ?? nil
            if file == nil {
                SocketCall.report(
                    "warning", "no directory in memory for the token's file: only the variable is set")
            }
            var launch = SpawnConfiguration(path, Array(program.words.dropFirst()), environment: environment)
            let text = String(decoding: content.dropLast(), as: UTF8.self)
            for (name, value) in program.environment.variables(token: text, file: file?.path) {
                launch.environment[name] = value
            }
            launch.callerSettings = caller
            func put(_ content: [UInt8]) throws(CredentialError) {
                try file?.write(program.environment.endsLine ? content : Array(content.dropLast()))
            }
            let companion: ForegroundChild
            do throws(CredentialError) {
                try put(content)
                companion = try ForegroundChild(starting: launch)
            } catch {
                try? file?.remove()
                throw error
            }
            var pause: Int64 = 1
            while true {
                let left = token.expiresAt.seconds(since: SystemClock().now) - margin(call)
                if let ending = companion.ending(within: min(max(left, pause), Freshness.longestPause)) {
                    end(like: ending, file)
                }
                if token.expiresAt.seconds(since: SystemClock().now) > margin(call) { continue }
                do throws(CredentialError) {
                    token = try client.token(
                        words, minValid: call.freshness.minimumValidity, now: SystemClock().now)
                    try put(try token.bytes(as: call.format))
                    // The broker may still give the same token, and may ask its user for each.
                    let isLonger = token.expiresAt.seconds(since: SystemClock().now) > margin(call)
                    pause = isLonger ? 1 : min(2 * pause, Freshness.longestPause)
                } catch {
                    if pause == 1 { SocketCall.report("warning", "the token is not refreshed: " + error.message) }
                    pause = min(2 * pause, Freshness.longestPause)
                }
            }
        } catch { SocketCall.end(error) }
    }

    /// For how many seconds a token must be valid at least, or it is replaced.
    private static func margin(_ call: FastPathArguments) -> Int64 { max(5, call.freshness.minimumValidity ?? 60) }

    private static func end(like ending: TerminationStatus, _ file: ExecTokenFile?) -> Never {
        if let file, (try? file.remove()) == nil {
            FastProgram.fail("credmgr: error: the file with the token cannot be removed\n")
        }
        ending.endThisProcess()
    }
}
