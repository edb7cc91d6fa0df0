import Glibc

/// `credmgr exec` with a token that is cached: starts the command, and is there until it has ended, or until its
/// token is to be replaced, when this process becomes the full program, which carries on.
enum FastExec {
    /// Runs the command and ends with its status; returns if the full program has to run it, and leaves no trace
    /// then.
    static func run(_ call: FastPathArguments, _ program: FastPathArguments.Program, _ words: [String]) {
        // The full program decides how to replace a standard stream that is closed.
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) == -1 { return }
        let environment = ProcessEnvironment.variables()
        guard let path = ExecutablePath.find(program.words[0], environment: environment),
            let place = FastPathEnvironment.ofThisMachine(), let cached = FastToken.cached(call, in: place),
            call.freshness.whereKept(cached.token).allows(cached.token, now: place.clock.now),
            let content = try? cached.presentation.bytes(as: call.format)
        else { return }
        let caller = InheritedSettings.replace()
        // Without a place for the file the full program has something to say.
        guard let file = try? ExecTokenFile(runtime: environment["XDG_RUNTIME_DIR"]) else {
            return caller.restore()
        }
        var launch = SpawnConfiguration(path, Array(program.words.dropFirst()), environment: environment)
        let token = String(decoding: content.dropLast(), as: UTF8.self)
        for (name, value) in program.environment.variables(token: token, file: file.path) {
            launch.environment[name] = value
        }
        launch.callerSettings = caller
        do throws(CredentialError) {
            try file.write(program.environment.endsLine ? content : Array(content.dropLast()))
            let companion = try ForegroundChild(starting: launch)
            if let ending = ending(of: companion, while: call.freshness, allows: cached.token, place.clock) {
                end(like: ending, file)
            }
            caller.restore()
            carryOn(
                ExecHandover(
                    process: companion.program.process, lock: file.handDown(), directory: file.directoryName,
                    group: cached.memo.group, type: cached.memo.account.type, account: cached.memo.account.id,
                    words: words))
            // The command still has a right to its signals and its exit status.
            FastProgram.tell("credmgr: warning: the token is not refreshed\n")
            while true {
                if let ending = companion.ending(within: nil) { end(like: ending, file) }
            }
        } catch {
            // The full program finds the same, and tells it.
            try? file.remove()
            caller.restore()
        }
    }

    /// How the command ended; `nil` if its token is to be replaced first.
    private static func ending(
        of companion: borrowing ForegroundChild, while freshness: Freshness, allows token: AccessToken,
        _ clock: SystemClock
    ) -> TerminationStatus? {
        while freshness.allows(token, now: clock.now) {
            let left = freshness.secondsLeft(of: token, now: clock.now)
            let pause = min(max(left, 1), Freshness.longestPause)
            if let ending = companion.ending(within: pause) { return ending }
        }
        return nil
    }

    private static func end(like ending: TerminationStatus, _ file: ExecTokenFile) -> Never {
        guard (try? file.remove()) != nil else {
            FastProgram.fail("credmgr: error: the file with the token cannot be removed\n")
        }
        ending.endThisProcess()
    }

    /// Becomes the full program; returns if it cannot.
    private static func carryOn(_ begun: ExecHandover) {
        // Always as `credmgr`: under the name of a helper, the words would be those of another program.
        let arguments = CStrings(["credmgr"] + begun.commandLine)
        unsafe FastProgram.become(arguments.pointers)
    }
}
