import Glibc

/// The small program, installed as `credmgr`: it answers from the cache, and gives way to the full program for all
/// else.
///
/// It is compiled from the sources of the full one, as Embedded Swift, and linked statically (`scripts/build-fast`,
/// docs/decisions/0013-the-small-program.md). It does not touch a call that it does not answer: the full program
/// finds arguments, environment, descriptors, signals and limits as the caller gave them.
@main enum FastProgram {
    static func main() {
        guard getauxval(UInt(AT_SECURE)) == 0 else {
            fail("credmgr: error: started with another user's rights, which it does not serve\n")
        }
        answer()
        execFullProgram()
    }

    /// Prints the token and ends; returns if it does not have one.
    private static func answer() {
        guard let given = givenWords() else { return }
        // The relay needs no home, and must work if only this program is installed.
        if let relay = RelayArguments(given) {
            if glibc_hide_memory() != 0 { fail("credmgr: error: this process cannot hide its memory\n") }
            FastRelay.run(relay)
        }
        if given.first == RelayArguments.word {
            // The full program has the help and the messages, if it is here.
            if let arguments = unsafe fast_arguments() { unsafe become(arguments) }
            tell("usage: credmgr relay [--socket PATH] [--port N] [--file ENTRY=PATH]... -- COMMAND...\n")
            _exit(ErrorCode.usage.exitStatus)
        }
        guard let words = plainWords(given) else { return }
        if words.count == 1, words[0] == "--version" {
            let line = ProductVersion.line
            return print(Array(line.utf8))
        }
        // No file was opened yet: a descriptor that this process inherited may refer to anything.
        guard let call = FastPathArguments(words), glibc_hide_memory() == 0 else { return }
        var message: [UInt8]?
        let read = {
            message = readMessage()
            return message
        }
        if let path = BrokerClient.path(ProcessEnvironment.variable) {
            SocketCall.answer(call, path, message: read)
            if let message { putBack(message) }
            return
        }
        if let program = call.program { return FastExec.run(call, program, words) }
        if let token = FastToken.answer(words, message: read, in: FastPathEnvironment.ofThisMachine) {
            print(token)
        }
        if let message { putBack(message) }
    }

    /// The words of the call; `nil` if the full program has to look at them first. This is so for a preloaded
    /// library, which only a dynamic program loads, and for an unknown home.
    private static func plainWords(_ words: [String]) -> [String]? {
        unsafe getenv("LD_PRELOAD") == nil && isHomeKnown ? words : nil
    }

    /// The words of the call; `nil` if the call has no words, or bytes that are not text.
    private static func givenWords() -> [String]? {
        let count = Int(fast_argument_count())
        guard count > 1, let arguments = unsafe fast_arguments() else { return nil }
        var words: [String] = []
        for index in 0..<count {
            guard let text = unsafe arguments[index], let word = unsafe String(validatingCString: text) else {
                return nil
            }
            words.append(word)
        }
        return ProgramAlias.words(of: words)
    }

    /// Whether the home directory is known, or not needed: a broker's socket needs no home.
    private static var isHomeKnown: Bool {
        if let home = unsafe getenv("HOME"), unsafe home.pointee != 0 { return true }
        return BrokerClient.path(ProcessEnvironment.variable) != nil
    }

    // MARK: Input

    /// Returns git's message on standard input, up to its end, or to more than the full program accepts. Returns
    /// `nil` if it cannot be read, which the full program reports, and for a terminal, which the full program may
    /// need for a prompt.
    private static func readMessage() -> [UInt8]? {
        if isatty(STDIN_FILENO) == 1 { return nil }
        var message: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while message.count <= FastToken.messageLimit {
            let count = unsafe read(STDIN_FILENO, &piece, piece.count)
            if count == 0 { break }
            if count > 0 {
                message.append(contentsOf: piece[..<count])
            } else if errno != EINTR {
                if message.isEmpty { return nil }
                fail("credmgr: error: standard input cannot be read to its end\n")
            }
        }
        return message
    }

    /// Makes the bytes that were read the standard input again, for the full program.
    private static func putBack(_ message: [UInt8]) {
        let file = unsafe memfd_create("message", 0)
        var written = 0
        while file >= 0, written < message.count {
            let count = unsafe message.withUnsafeBytes { bytes in
                unsafe write(file, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count <= 0 { break }
            written += count
        }
        guard file >= 0, written == message.count, lseek(file, 0, SEEK_SET) == 0, dup2(file, STDIN_FILENO) == 0,
            close(file) == 0
        else { fail("credmgr: error: there is no memory for what git says\n") }
    }

    // MARK: Output

    /// Writes the output and ends; returns if not a byte of it could be written.
    private static func print(_ bytes: [UInt8]) {
        // A reader that is gone, or a limit on the size of files, is an error, which the full program tells.
        let before = unsafe glibc_ignore_signal(SIGPIPE), limited = unsafe glibc_ignore_signal(SIGXFSZ)
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe write(STDOUT_FILENO, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count > 0 {
                written += count
            } else if errno != EINTR {
                break
            }
        }
        if written == bytes.count { _exit(0) }
        guard written == 0 else {
            fail("credmgr: error: standard output took only a part of the answer\n")
        }
        _ = unsafe signal(SIGPIPE, before)
        _ = unsafe signal(SIGXFSZ, limited)
    }

    static func tell(_ message: StaticString) {
        _ = unsafe write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
    }

    static func fail(_ message: StaticString) -> Never {
        tell(message)
        _exit(1)
    }

    // MARK: The full program

    /// Becomes the full program, with the words that this one was given.
    private static func execFullProgram() -> Never {
        if let arguments = unsafe fast_arguments() { become(arguments, ifMissing: refuseAtSocket) }
        fail("credmgr: hint: install credmgr again, such as: apt-get install --reinstall credmgr\n")
    }

    /// Ends a call at a broker's socket that the full program would refuse. A sandbox may have only this program.
    private static func refuseAtSocket() {
        guard let path = BrokerClient.path(ProcessEnvironment.variable), let words = givenWords() else { return }
        for word in words where word.utf8.first != UInt8(ascii: "-") {
            switch word {
            case "login", "logout", "refresh", "store", "broker", "setup":
                SocketCall.end(
                    CredentialError(
                        .usage,
                        "'\(word)' is not available at the broker's socket \(UntrustedText.shown(path, limit: 200))",
                        hint: "to use the accounts of this machine: unset CREDMGR_SOCK"))
            default: return
            }
        }
    }

    /// Becomes the full program: `../libexec/credmgr/credmgr` of the folder that this program really lies in, never
    /// one that `PATH` or its name leads to. Returns if it cannot, after it has reported why.
    ///
    /// - Parameters:
    ///   - arguments: as for execve(2).
    ///   - ifMissing: called before the report that the full program is missing.
    static func become(
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, ifMissing: () -> Void = {}
    ) {
        let size = 4096
        let path = unsafe UnsafeMutablePointer<CChar>.allocate(capacity: size + 32)
        var length = unsafe readlink("/proc/self/exe", path, size)
        for _ in 0..<2 {
            while length > 0, unsafe path[length - 1] != 0x2f { length -= 1 }
            length -= 1
        }
        guard length >= 0 else { return tell("credmgr: error: the program's own folder cannot be found\n") }
        unsafe strcpy(path + length, "/libexec/credmgr/credmgr")
        unsafe execv(path, arguments)
        if errno == ENOENT {
            ifMissing()
            tell("credmgr: error: the full program is missing: ")
        } else {
            tell("credmgr: error: the full program cannot be run: ")
        }
        _ = unsafe write(STDERR_FILENO, path, strlen(path))
        tell("\n")
    }
}
