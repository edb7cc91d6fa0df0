import Foundation
import Platform

/// A call of the program that is under way, in a session of its own.
final class Call {
    /// How a call ended.
    struct Result {
        /// Standard output.
        let output: String
        /// Standard error.
        let errors: String
        /// The exit status, 128 plus the number of a signal.
        let exitStatus: Int32
    }

    private var program: RunningProgram
    private var isOver = false
    private let errorFile: TemporaryFile

    init(_ program: String, _ words: [String], environment: [String: String]) throws {
        // Errors go to a file: no thread needs to read two pipes at a time.
        errorFile = try TemporaryFile()
        var launch = SpawnConfiguration(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" 2>\"$CALL_ERRORS\"", program] + words,
            environment: environment.merging(["CALL_ERRORS": errorFile.path]) { $1 })
        launch.standardOutput = .pipe
        launch.startsSession = true
        self.program = try launch.start()
    }

    deinit {
        if isOver { return }
        program.send(signal: SIGKILL)
        _ = program.wait()
    }

    /// Its process.
    var processID: Int32 { program.process }

    /// Kills the call and the other processes in its group.
    func kill() { program.send(signal: SIGKILL) }

    /// Sends it a signal.
    func send(_ signal: Int32) { program.send(signal: signal) }

    /// One line of its output, waited for.
    func line() -> String? {
        var line: [UInt8] = []
        while let byte = byte() {
            if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// The text that it has printed on standard error so far.
    var errors: String { errorFile.text }

    /// Whether it has ended, or all of its output is there.
    var hasEnded: Bool {
        var polled = pollfd(fd: FileDescriptor.number(of: program.output), events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, 0) > 0
    }

    /// Waits for its end.
    func result() -> Result {
        var output: [UInt8] = []
        while let byte = byte() { output.append(byte) }
        let status = program.wait().exitStatus
        isOver = true
        return Result(output: String(decoding: output, as: UTF8.self), errors: errors, exitStatus: status)
    }

    private func byte() -> UInt8? {
        var byte: UInt8 = 0
        let number = FileDescriptor.number(of: program.output)
        while true {
            // A program without output for so long has failed the test; it must not delay the others.
            var polled = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
            if poll(&polled, 1, 90_000) == 0 {
                kill()
                return nil
            }
            let count = read(number, &byte, 1)
            if count == 1 { return byte }
            if count == 0 || errno != EINTR { return nil }
        }
    }
}

/// A file that goes with its last reference.
private final class TemporaryFile {
    let path = NSTemporaryDirectory() + "credmgr-race-" + UUID().uuidString

    init() throws { try Data().write(to: URL(fileURLWithPath: path)) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    var text: String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
