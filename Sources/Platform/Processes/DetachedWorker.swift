package import CredentialCore
import Glibc

/// A program that finishes its work even if its caller ends: it has a session of its own, holds the caller's lock,
/// and is given its whole input before the caller waits for its response.
package struct DetachedWorker: Sendable {
    /// How to start it; its streams and its session are set here.
    private var launch: SpawnConfiguration

    /// Describes a worker.
    package init(_ launch: SpawnConfiguration) {
        self.launch = launch
        self.launch.standardInput = .pipe
        self.launch.standardOutput = .pipe
        self.launch.startsSession = true
    }

    /// The descriptor at which the worker finds the lock.
    package static let lockDescriptor: Int32 = 3
    private static let answerLimit = 64 << 20

    /// Starts the worker, hands the lock over and waits for the answer.
    ///
    /// - Parameters:
    ///   - seconds: how long to wait; the worker goes on after that.
    ///   - outlivesCaller: whether the worker can go on without this process; else it is waited for to its end,
    ///     which ``WorkerLife`` bounds.
    ///   - whenLate: called once when the time is over and the caller still waits for the worker.
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started, ``ErrorCode/temporary`` when the time is
    ///   over.
    package func run(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, outlivesCaller: Bool = true,
        whenLate: () -> Void = {}
    ) throws(CredentialError) -> [UInt8] {
        var launch = launch
        launch.inherited = [lock.descriptor]
        var program = try launch.start()
        // From here on only the worker holds the lock: it is free the moment the worker ends, and not before.
        lock.release()
        // A worker that died before it read its input has no answer either.
        if let file = program.input.take() { _ = file.write(input) }
        guard let answers = program.output.take() else { return [] }
        let watch = Stopwatch()
        var answer: [UInt8] = []
        var isLate = false
        while true {
            let left = Int64(seconds) * 1_000 - watch.elapsed
            var polled = pollfd(fd: answers.number, events: Int16(POLLIN), revents: 0)
            let ready =
                isLate ? unsafe poll(&polled, 1, -1) : left > 0 ? unsafe poll(&polled, 1, Int32(clamping: left)) : 0
            if ready < 0, errno == EINTR { continue }
            if ready == 0, !outlivesCaller {
                isLate = true
                whenLate()
                continue
            }
            if ready <= 0 {
                program.waitAside()
                throw CredentialError(
                    .temporary, "the refresh takes longer than \(seconds) s; it continues in the background",
                    hint: "try again in a moment")
            }
            var piece = [UInt8](repeating: 0, count: 1 << 16)
            let count = unsafe read(answers.number, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            if count <= 0 || answer.count > Self.answerLimit { break }
            answer += piece[..<count]
        }
        // Not aside: a caller that ended first would leave it to the first process of a container, which may
        // collect no children.
        _ = program.wait()
        return answer
    }
}
