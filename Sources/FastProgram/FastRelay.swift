import Glibc

/// `credmgr relay` in a sandbox, in which this program may be the only one: it never becomes the full program.
enum FastRelay {
    /// Runs the command beside the relay, and ends as the command did.
    static func run(_ arguments: RelayArguments) -> Never {
        // A socket with the number of a stream would become the command's.
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) == -1 {
            guard unsafe open("/dev/null", O_RDWR) == stream else {
                FastProgram.fail("credmgr: error: a standard stream is closed, and there is no /dev/null\n")
            }
        }
        let relay = Relay(arguments, environment: ProcessEnvironment.variables()) { tell("warning", $0) }
        do throws(CredentialError) {
            try relay.run(caller: InheritedSettings.replace()).endThisProcess()
        } catch {
            tell("error", error)
            _exit(error.code.exitStatus)
        }
    }

    private static func tell(_ kind: String, _ error: CredentialError) {
        var text = "credmgr: " + kind + ": " + error.message + "\n"
        if let hint = error.hint { text += "credmgr: hint: " + hint + "\n" }
        // A standard error without a reader is no reason to end.
        try? StandardStream.error.write(text)
    }
}
