import CredentialCore
import Foundation
import Testing

@testable import Platform

@Suite struct StandardStreamTests {
    @Test func `a failed write is an error`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            dup2(open("/dev/full", O_WRONLY), 1)
            do {
                try StandardStream.output.write("token\n")
            } catch let error as CredentialError {
                let expected = "cannot write standard output: No space left on device"
                exit(error.code == .inputOutput && error.message == expected ? 3 : 1)
            }
        }
    }

    @Test func `a reader that went away is told apart`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            signal(SIGPIPE, SIG_IGN)
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            dup2(ends[1], 1)
            close(ends[0])
            close(ends[1])
            do {
                try StandardStream.output.write("token\n")
            } catch let error as CredentialError {
                exit(error == StandardStream.readerGone ? 3 : 1)
            }
        }
    }

    @Test func `a slow reader of a non-blocking pipe gets everything`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
            dup2(ends[1], 1)
            close(ends[1])
            let reader = FileHandle(fileDescriptor: ends[0])
            let total = 500_000
            let thread = Thread {
                var seen = 0
                while seen < total {
                    let piece = reader.readData(ofLength: 1000)
                    if piece.isEmpty { exit(4) }
                    seen += piece.count
                }
                exit(3)
            }
            thread.start()
            try StandardStream.output.write([UInt8](repeating: 65, count: total))
            alarm(60)
            pause()
        }
    }

    @Test func `a secret is asked for without echo and the terminal is as before`() throws {
        var master: Int32 = 0, slave: Int32 = 0
        #expect(openpty(&master, &slave, nil, nil, nil) == 0)
        defer { close(master) }
        let answer = Answer()
        let done = DispatchSemaphore(value: 0)
        let copy = dup(slave)
        Thread.detachNewThread {
            answer.secret = try? TerminalPrompt(
                FileDescriptor(owning: copy), prompt: "password: ", isSecret: true
            ).ask()
            done.signal()
        }
        var shown = try Self.readScreen(master, until: "password: ")
        write(master, "hunter2\n", 8)
        try #require(done.wait(timeout: .now() + 60) == .success, "the question is not over within 60 s")
        if !shown.contains("\n") { shown += try Self.readScreen(master, until: "\n") }
        #expect(answer.secret?.reveal() == "hunter2")
        #expect(!shown.contains("hunter2"))
        var settings = termios()
        tcgetattr(slave, &settings)
        #expect(settings.c_lflag & tcflag_t(ECHO) != 0)
        close(slave)
    }

    @Test(arguments: [20_000, 131_000])
    func `a line is taken that is longer than a terminal passes on by itself`(length: Int) throws {
        let line = [UInt8](repeating: UInt8(ascii: "c"), count: length)
        let (answer, shown) = try Self.ask(typing: line + [UInt8(ascii: "\n")])
        #expect(answer?.reveal().utf8.count == length)
        #expect(shown.utf8.count { $0 == UInt8(ascii: "c") } == length)
    }

    @Test func `a line that goes on and on is refused`() throws {
        let line = [UInt8](repeating: UInt8(ascii: "c"), count: 140_000)
        #expect(try Self.ask(typing: line).answer == nil)
    }

    @Test func `a typed line can be mended`() throws {
        let typed = "abX\u{7F}c \u{E4}\u{E4}\u{7F}wrong word\u{17}\u{17}d\u{1}e\u{15}x y\u{17}z\n"
        let (answer, shown) = try Self.ask(typing: Array(typed.utf8))
        #expect(answer?.reveal() == "x z")
        #expect(!shown.contains("\u{1}"))
    }

    /// Reads a terminal's output until it has shown a text.
    ///
    /// - Throws: ``NotShown`` when the terminal is closed without it, or it does not come within a minute.
    private static func readScreen(_ screen: Int32, until text: String) throws -> String {
        var shown = "", buffer = [UInt8](repeating: 0, count: 1 << 12)
        let limit = ContinuousClock.now + .seconds(60)
        while !shown.contains(text) {
            var waiting = pollfd(fd: screen, events: Int16(POLLIN), revents: 0)
            guard ContinuousClock.now < limit else { throw NotShown(text: text, shown: shown) }
            guard poll(&waiting, 1, 1_000) > 0 else { continue }
            let count = Glibc.read(screen, &buffer, buffer.count)
            guard count > 0 else { throw NotShown(text: text, shown: shown) }
            shown += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
        return shown
    }

    private struct NotShown: Error {
        let text: String, shown: String
    }

    /// Types an answer as fast as the terminal accepts it; gives the answer and the terminal's output.
    private static func ask(typing bytes: [UInt8]) throws -> (answer: Secret?, shown: String) {
        var master: Int32 = 0, slave: Int32 = 0
        #expect(openpty(&master, &slave, nil, nil, nil) == 0)
        defer { close(master) }
        let answer = Answer()
        let done = DispatchSemaphore(value: 0)
        let owned = slave
        Thread.detachNewThread {
            answer.secret = try? TerminalPrompt(
                FileDescriptor(owning: owned), prompt: "URL? ", isSecret: false
            ).ask()
            done.signal()
        }
        var shown = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let limit = ContinuousClock.now + .seconds(60)
        // Reading fails when the question is over and has closed the terminal.
        while true {
            try #require(ContinuousClock.now < limit, "the question has not closed the terminal within 60 s")
            var waiting = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 1_000) > 0 else { continue }
            let count = Glibc.read(master, &buffer, buffer.count)
            guard count > 0 else { break }
            let wasAsked = shown.contains(UInt8(ascii: "?"))
            shown += buffer.prefix(count)
            guard !wasAsked, shown.contains(UInt8(ascii: "?")) else { continue }
            let keyboard = master
            Thread.detachNewThread {
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { write(keyboard, $0.baseAddress, min($0.count, 1_024)) }
                    if count <= 0 { return }
                    rest = rest.dropFirst(count)
                }
            }
        }
        try #require(done.wait(timeout: .now() + 60) == .success, "the question is not over within 60 s")
        return (answer.secret, String(decoding: shown, as: UTF8.self))
    }

    @Test func `a signal during a secret restores the echo before it acts`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            signal(SIGINT) { _ in }
            var master: Int32 = 0, slave: Int32 = 0
            openpty(&master, &slave, nil, nil, nil)
            let copy = dup(slave), watched = slave
            let asking = Asking()
            let thread = Thread {
                asking.thread = pthread_self()
                do {
                    _ = try TerminalPrompt(FileDescriptor(owning: copy), prompt: "password: ", isSecret: true).ask()
                } catch {
                    var settings = termios()
                    tcgetattr(watched, &settings)
                    let isRestored = settings.c_lflag & tcflag_t(ECHO) != 0
                    exit(isRestored && (error as? CredentialError)?.code == .interrupted ? 3 : 1)
                }
            }
            thread.start()
            _ = try Self.readScreen(master, until: "password: ")
            // Ctrl-C would reach any thread; the one that asks is meant.
            pthread_kill(asking.thread, SIGINT)
            // The thread ends this process; this one does so after a minute, by an alarm.
            alarm(60)
            while true { pause() }
        }
    }

    @Test func `a file that is not a terminal has no width`() {
        let file = open("/dev/null", O_RDONLY)
        defer { close(file) }
        #expect(!Terminal.isTerminal(file))
        #expect(Terminal.width(file) == nil)
        var master: Int32 = 0, slave: Int32 = 0
        var size = winsize(ws_row: 24, ws_col: 91, ws_xpixel: 0, ws_ypixel: 0)
        openpty(&master, &slave, nil, nil, &size)
        #expect(Terminal.isTerminal(slave))
        #expect(Terminal.width(slave) == 91)
        close(master)
        close(slave)
    }

    @Test func `one line of standard input is taken and the rest is left`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            dup2(ends[0], 0)
            write(ends[1], "first\r\nsecond", 13)
            close(ends[1])
            let first = try Terminal.readLine(), second = try Terminal.readLine(), third = try Terminal.readLine()
            let isRight = first?.reveal() == "first" && second?.reveal() == "second" && third == nil
            exit(isRight ? 3 : 1)
        }
    }

    private final class Asking: @unchecked Sendable { var thread = pthread_self() }
    private final class Answer: @unchecked Sendable { var secret: Secret? }
}
