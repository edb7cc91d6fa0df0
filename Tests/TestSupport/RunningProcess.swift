import CLinux
import Foundation

/// A program that a test has started and that runs beside it.
///
/// Threads of its own read the program's output and wait for its end, so that a busy machine with all threads of
/// the shared pools taken delays no test. Each wait has a limit that names the program and the awaited event. A
/// wait for the end is for the program alone: programs that it leaves behind in the background do not delay it.
///
/// The program leads a process group, and has no signal blocked or ignored. It ends at the latest with the last
/// reference.
public final class RunningProcess: Sendable {
    /// A pipe without a reader is an error to its writer, as in the product, and not the end of the tests.
    private static let ignoresBrokenPipes: Void = { _ = Glibc.signal(SIGPIPE, SIG_IGN) }()

    /// The stream that the program writes to.
    public enum Stream: String, Sendable {
        /// Standard output.
        case output = "standard output"
        /// Standard error.
        case errors = "standard error"
    }

    /// The standard input of the program.
    public enum Input: Sendable {
        /// `/dev/null`.
        case none
        /// The text that ``write(_:within:)`` writes, until ``closeInput()``.
        case pipe
    }

    /// The number of the process, and of its group.
    public let id: pid_t
    private let call: ChildProcess
    private let state: State

    /// Starts a program.
    ///
    /// - Throws: ``ProcessFailure`` if it cannot be started.
    init(_ call: ChildProcess, input: Input) throws {
        _ = Self.ignoresBrokenPipes
        self.call = call
        let source = try input == .pipe ? Pipe.make() : nil
        let output = try Pipe.make(), errors = try Pipe.make()
        // The ends of the program are open in it alone: otherwise the reader would see no end of its output.
        defer {
            close(output.write)
            close(errors.write)
            if let source { close(source.read) }
        }
        do {
            id = try Self.spawn(call, [source?.read, output.write, errors.write])
        } catch {
            for end in [output.read, errors.read] { close(end) }
            if let source { close(source.write) }
            throw error
        }
        state = State(id, input: source?.write)
        state.startReading([output.read, errors.read])
        state.startWaiting()
    }

    deinit { kill() }

    // MARK: What it prints

    /// The next whole line that no call has taken; `nil` at the end of the stream.
    ///
    /// - Throws: ``ProcessFailure`` without one within `seconds`.
    public func line(_ stream: Stream = .output, within seconds: Double = 120) throws -> String? {
        try state.wait(seconds, orFailWith: { failure("has no further line of \(stream.rawValue)", $0) }) { inner in
            let text = inner[stream]
            let rest = text.data[text.taken...]
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
                guard !text.isOpen else { return nil }
                inner[stream].taken = text.data.endIndex
                return .some(rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self))
            }
            inner[stream].taken = end + 1
            return .some(String(decoding: rest[..<end], as: UTF8.self))
        }
    }

    /// Waits until the program has printed something that is looked for.
    ///
    /// - Returns: all that it has printed to the stream so far.
    /// - Throws: ``ProcessFailure`` when the stream ends without it, or it does not come within `seconds`.
    @discardableResult public func wait(
        for text: String, on stream: Stream = .errors, within seconds: Double = 120
    ) throws -> String {
        try wait(until: "'\(text)'", on: stream, within: seconds) { $0.contains(text) }
    }

    /// Waits until the program's output satisfies `isEnough`.
    ///
    /// - Parameter what: the awaited event, for the message of the failure.
    /// - Returns: all that it has printed to the stream so far.
    /// - Throws: as ``wait(for:on:within:)``.
    @discardableResult public func wait(
        until what: String, on stream: Stream = .errors, within seconds: Double = 120, isEnough: (String) -> Bool
    ) throws -> String {
        let found = try state.wait(
            seconds, orFailWith: { failure("has not printed \(what) to \(stream.rawValue)", $0) }
        ) { inner -> String?? in
            let said = inner[stream].text
            if isEnough(said) { return .some(said) }
            return inner[stream].isOpen ? nil : .some(nil)
        }
        guard let found else {
            throw ProcessFailure(
                description: "\(call.shown) closed its \(stream.rawValue) without \(what)\n\(state.printed)")
        }
        return found
    }

    // MARK: What it reads

    /// Writes to its standard input.
    ///
    /// A program that has closed it, or has ended, is no failure: how it ended tells.
    ///
    /// - Throws: ``ProcessFailure`` when it does not read all of it within `seconds`.
    public func write(_ text: String, within seconds: Double = 120) throws {
        try write(Data(text.utf8), within: seconds)
    }

    /// Writes bytes to its standard input, as ``write(_:within:)-(String,_)``.
    public func write(_ data: Data, within seconds: Double = 120) throws {
        guard try state.write(data, until: .now + .seconds(seconds)) else {
            throw failure("has not read its standard input", "within \(seconds) s")
        }
    }

    /// Ends its standard input; a second call has no effect.
    public func closeInput() { state.closeInput() }

    // MARK: Its end

    /// Whether it has not ended.
    public var isRunning: Bool { state.isRunning }

    /// Sends the process a signal, unless it has ended.
    public func send(_ signal: Int32) { state.send(signal, toGroup: false) }

    /// Ends the process and its group at once, and waits for its end; a second call has no effect.
    public func kill() {
        state.send(SIGKILL, toGroup: true)
        state.closeInput()
        // The kernel ends it; a process that cannot be waited for here is reaped by the thread that waits.
        _ = try? status(within: 30)
    }

    /// Waits for the end of the process; its children may live on.
    ///
    /// - Returns: the exit status, or 128 plus the signal's number.
    /// - Throws: ``ProcessFailure`` when it does not end within `seconds`; it is killed then.
    @discardableResult public func status(within seconds: Double = 120) throws -> Int32 {
        try end(within: seconds).exitStatus
    }

    /// Waits for the end of the process as ``status(within:)``.
    ///
    /// - Returns: the signal that ended it; `nil` when it exited.
    /// - Throws: as ``status(within:)``.
    public func signal(within seconds: Double = 120) throws -> Int32? { try end(within: seconds).signal }

    /// Waits for the end of the process and of all that it prints.
    ///
    /// - Throws: ``ProcessFailure`` when they do not end within `seconds`; it and its group are killed then. Also
    ///   when it is `credmgr` and shows a secret that ``Canary`` watches over.
    public func outcome(within seconds: Double = 120) throws -> ChildProcess.Outcome {
        let limit = ContinuousClock.now + .seconds(seconds)
        let end = try end(within: seconds)
        do {
            try state.wait(
                Double((limit - .now) / .seconds(1)),
                orFailWith: { _ in
                    failure("has ended, and what it started holds its output open", "within \(seconds) s")
                }
            ) { inner in inner[.output].isOpen || inner[.errors].isOpen ? nil : () }
        } catch {
            state.send(SIGKILL, toGroup: true)
            throw error
        }
        let outcome = ChildProcess.Outcome(
            standardOutput: state.text(.output), standardError: state.text(.errors), exitStatus: end.exitStatus,
            signal: end.signal)
        if call.program.hasSuffix("/credmgr") { try Canary.check(outcome, of: call.arguments) }
        return outcome
    }

    private func end(within seconds: Double) throws -> End {
        do {
            return try state.wait(seconds, orFailWith: { failure("has not ended", $0) }) { $0.end }
        } catch {
            state.send(SIGKILL, toGroup: true)
            throw error
        }
    }

    private func failure(_ what: String, _ limit: String) -> ProcessFailure {
        ProcessFailure(description: "\(call.shown) \(what) \(limit)\n\(state.printed)")
    }
}

/// Why a program of a test was not waited for any longer, or could not be started.
public struct ProcessFailure: Error, CustomStringConvertible {
    /// The program, the awaited event, the time, and the end of its output.
    public let description: String
}

// MARK: - Starting

extension RunningProcess {
    /// Starts a program with the given descriptors as 0, 1 and 2, and no others; `nil` is `/dev/null`.
    private static func spawn(_ call: ChildProcess, _ descriptors: [Int32?]) throws -> pid_t {
        var actions = posix_spawn_file_actions_t(), attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (number, descriptor) in descriptors.enumerated() {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        _ = linux_spawn_add_closefrom(&actions, Int32(descriptors.count))
        if let directory = call.directory { _ = linux_spawn_add_chdir(&actions, directory) }
        // A program inherits the blocked and ignored signals of its caller. The runner of the tests blocks signals,
        // and a shell that runs it in the background ignores some.
        var none = sigset_t(), all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var words: [UnsafeMutablePointer<CChar>?] = ([call.program] + call.arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = call.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var id: pid_t = 0
        let failure = posix_spawn(&id, call.program, &actions, &attributes, &words, &variables)
        guard failure == 0 else {
            throw ProcessFailure(
                description: "\(call.program) cannot be started: \(String(cString: strerror(failure)))")
        }
        return id
    }

    private enum Pipe {
        static func make() throws -> (read: Int32, write: Int32) {
            var ends: [Int32] = [-1, -1]
            guard linux_pipe(&ends) == 0 else {
                throw ProcessFailure(description: "no pipe: \(String(cString: strerror(errno)))")
            }
            return (ends[0], ends[1])
        }
    }
}

// MARK: - State

extension RunningProcess {
    fileprivate struct End {
        let exitStatus: Int32
        let signal: Int32?

        /// Reads the status from `waitpid`.
        init(_ status: Int32) {
            let number = status & 0x7F
            signal = number == 0 ? nil : number
            exitStatus = number == 0 ? status >> 8 & 0xFF : 128 + number
        }
    }

    fileprivate struct Printed {
        var data = Data()
        /// The start of the lines that no caller has taken.
        var taken = 0
        var isOpen = true
        var text: String { String(decoding: data, as: UTF8.self) }
    }

    fileprivate struct Inner {
        var output = Printed(), errors = Printed()
        var end: End?

        subscript(_ stream: Stream) -> Printed {
            get { stream == .output ? output : errors }
            set { if stream == .output { output = newValue } else { errors = newValue } }
        }
    }

    /// The state that the threads of a process share with the thread that waits for it.
    fileprivate final class State: @unchecked Sendable {
        private let id: pid_t
        private let condition = NSCondition()
        private var inner = Inner()
        private let inputLock = NSLock()
        private var input: Int32?

        init(_ id: pid_t, input: Int32?) {
            self.id = id
            self.input = input
            if let input { _ = fcntl(input, F_SETFL, O_NONBLOCK) }
        }

        deinit { closeInput() }

        /// Waits until `find` finds something, and gives that.
        func wait<Found>(
            _ seconds: Double, orFailWith failure: (_ limit: String) -> any Error, _ find: (inout Inner) -> Found?
        ) throws -> Found {
            let limit = Date(timeIntervalSinceNow: seconds)
            condition.lock()
            while true {
                if let found = find(&inner) {
                    condition.unlock()
                    return found
                }
                guard condition.wait(until: limit) else { break }
            }
            let found = find(&inner)
            condition.unlock()
            if let found { return found }
            throw failure("within \(seconds) s")
        }

        private func change(_ change: (inout Inner) -> Void) {
            condition.lock()
            change(&inner)
            condition.broadcast()
            condition.unlock()
        }

        var isRunning: Bool {
            condition.lock()
            defer { condition.unlock() }
            return inner.end == nil
        }

        func text(_ stream: Stream) -> String {
            condition.lock()
            defer { condition.unlock() }
            return inner[stream].text
        }

        /// The end of its output, for a failure.
        var printed: String {
            [Stream.output, .errors].map { stream in
                let text = text(stream)
                return text.isEmpty ? "" : "its \(stream.rawValue): …\(text.suffix(2_000))\n"
            }.joined()
        }

        func send(_ signal: Int32, toGroup: Bool) {
            condition.lock()
            defer { condition.unlock() }
            // Its number may be another's once it is reaped. A group keeps its number as long as it has a member.
            if inner.end == nil {
                _ = Glibc.kill(id, signal)
            }
            if toGroup, inner.end == nil || inner.output.isOpen || inner.errors.isOpen {
                _ = Glibc.kill(-id, signal)
            }
        }

        /// Writes all of it; `false` when the time is over before.
        func write(_ data: Data, until limit: ContinuousClock.Instant) throws -> Bool {
            var rest = [UInt8](data)[...]
            while !rest.isEmpty {
                let isOver = ContinuousClock.now >= limit
                inputLock.lock()
                guard let input else {
                    inputLock.unlock()
                    return true
                }
                let count = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
                let error = errno
                inputLock.unlock()
                if count > 0 {
                    rest = rest.dropFirst(count)
                    continue
                }
                guard error == EAGAIN || error == EINTR else { return true }
                if isOver { return false }
                var waiting = pollfd(fd: input, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, 100)
            }
            return true
        }

        func closeInput() {
            inputLock.lock()
            defer { inputLock.unlock() }
            if let input { close(input) }
            input = nil
        }

        func startReading(_ descriptors: [Int32]) {
            let thread = Thread { [self] in
                var open = Array(zip([Stream.output, .errors], descriptors))
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                while !open.isEmpty {
                    var waiting = open.map { pollfd(fd: $0.1, events: Int16(POLLIN), revents: 0) }
                    guard poll(&waiting, nfds_t(waiting.count), -1) > 0 else { continue }
                    for (place, (stream, descriptor)) in open.enumerated().reversed()
                    where waiting[place].revents != 0 {
                        let count = read(descriptor, &buffer, buffer.count)
                        if count < 0, errno == EINTR { continue }
                        guard count > 0 else {
                            close(descriptor)
                            open.remove(at: place)
                            change { $0[stream].isOpen = false }
                            continue
                        }
                        change { $0[stream].data.append(contentsOf: buffer.prefix(count)) }
                    }
                }
            }
            thread.stackSize = 1 << 18
            thread.start()
        }

        func startWaiting() {
            let thread = Thread { [self] in
                // It stays a zombie, whose number no other process has, until the lock is held.
                var info = siginfo_t()
                while waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
                change { inner in
                    var status: Int32 = 0
                    while waitpid(id, &status, 0) < 0, errno == EINTR {}
                    inner.end = End(status)
                }
            }
            thread.stackSize = 1 << 18
            thread.start()
        }
    }
}
