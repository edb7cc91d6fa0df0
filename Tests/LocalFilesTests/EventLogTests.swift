import CredentialCore
import Foundation
import LocalFiles
import Platform
import TestSupport
import Testing

@Suite struct EventLogTests {
    private let temporary: TemporaryFolder
    private let folders: GroupFolders
    private let log: EventLogFile
    private let path: String

    init() throws {
        temporary = try TemporaryFolder()
        folders = GroupFolders(dataHome: temporary.path)
        log = EventLogFile(folders)
        path = temporary.path + "/credmgr/groups/default/events.jsonl"
    }

    private func event(_ number: Int, in group: KeychainGroup = .standard, reason: String? = nil) -> AccountEvent {
        AccountEvent(
            kind: .tokenRefreshed, time: Timestamp(epochSeconds: 1_700_000_000), group: group, type: "T",
            account: "a\(number)", policy: "p", reason: reason)
    }

    @Test func `an event is one line of JSON`() throws {
        log.append(event(1))
        log.append(
            AccountEvent(
                kind: .loginFailed, time: Timestamp(epochSeconds: 0), group: .standard, type: nil, account: nil,
                reason: "two\nlines"))
        #expect(
            try String(contentsOfFile: path, encoding: .utf8) == """
                {"event":"token.refreshed","time":"2023-11-14T22:13:20Z","group":"default","type":"T","account":"a1",\
                "policy":"p"}
                {"event":"login.failed","time":"1970-01-01T00:00:00Z","group":"default","type":null,"account":null,\
                "reason":"two\\nlines"}

                """)
    }

    @Test func `a reader gets the events after its start, complete and in order`() throws {
        log.append(event(0))
        let reader = try EventTailer(folders, group: .standard)
        #expect(try reader.next(timeout: 0) == nil)
        for number in 1...3 { log.append(event(number)) }
        for number in 1...3 { #expect(try reader.next(timeout: 5000) == event(number)) }
        #expect(try reader.next(timeout: 10) == nil)
    }

    @Test func `a waiting reader wakes for a line of another process and passes over nonsense`() throws {
        let reader = try EventTailer(folders)
        log.append(event(1))
        #expect(try reader.next(timeout: 5000) == event(1))
        let line =
            #"{"event":"account.added","time":"2023-11-14T22:13:20Z","group":"default","type":"T","account":"x"}"#
        let foreign = line.replacingOccurrences(of: "default", with: "other")
        let script =
            "printf 'nonsense\\n%s\\n{\"event\":\"new.kind\"}\\n%s' '\(foreign)' '\(line)' >> \(path); echo >> \(path)"
        let writer = Thread { _ = try? ChildProcess("/bin/sh", ["-c", script]).run() }
        writer.start()
        let event = try #require(try reader.next(timeout: 20_000))
        #expect(event.kind == .accountAdded && event.account == "x" && event.policy == nil)
    }

    @Test func `a cut line takes no other event with it`() throws {
        let reader = try EventTailer(folders, group: .standard)
        log.append(event(1))
        #expect(try reader.next(timeout: 5000) == event(1))
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(#"{"event":"token.refr"#.utf8))
        #expect(try reader.next(timeout: 0) == nil)
        // A tailer that begins behind the cut gets the same events.
        let late = try EventTailer(folders, group: .standard)
        for number in 2...3 {
            log.append(event(number))
            for reader in [reader, late] { #expect(try reader.next(timeout: 5000) == event(number)) }
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count == 4)
    }

    @Test func `a reader of all groups sees groups that appear later`() throws {
        let reader = try EventTailer(folders)
        let work = try KeychainGroup("work")
        log.append(event(1, in: work))
        #expect(try reader.next(timeout: 5000) == event(1, in: work))
        log.append(event(2))
        #expect(try reader.next(timeout: 5000) == event(2))
    }

    @Test func `a full log is put away and a reader misses nothing`() throws {
        let reader = try EventTailer(folders, group: .standard)
        let padding = String(repeating: "x", count: 1000)
        for number in 1...600 {
            log.append(event(number, reason: padding))
            // As a process that watches does: it keeps up.
            if number % 100 == 0 {
                for seen in (number - 99)...number {
                    #expect(try reader.next(timeout: 5000)?.account == "a\(seen)")
                }
            }
        }
        #expect(FileManager.default.fileExists(atPath: path + ".1"))
        for file in [path, path + ".1"] {
            let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
            #expect(try #require(size) < 300 << 10)
        }
    }

    @Test func `many writers lose no line, also while the log is put away`() throws {
        let reader = try EventTailer(folders, group: .standard)
        let padding = String(repeating: "x", count: 900)
        // Less than two logs full, so that no log is rotated twice before it is read.
        DispatchQueue.concurrentPerform(iterations: 8) { writer in
            for number in 0..<50 { log.append(event(writer * 50 + number, reason: padding)) }
        }
        var seen: Set<String> = []
        while let event = try reader.next(timeout: 0) { seen.insert(event.account ?? "") }
        #expect(seen.count == 400)
        #expect(FileManager.default.fileExists(atPath: path + ".1"))
    }

    @Test func `a writer that waited while the log was put away writes to the new one`() throws {
        let folder = try folders.create(of: .standard)
        // A try in which this thread sleeps for longer than a writer waits proves no property.
        let isProven = try (0..<5).contains { attempt in
            let file = try folder.openShared("events.jsonl", appending: true)
            #expect(FileLock.wait(file, milliseconds: 5000) == 0)
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                log.append(event(attempt))
                done.signal()
            }
            let limit = ContinuousClock.now + .seconds(60)
            while try openCount(path) < 2 {
                try #require(ContinuousClock.now < limit, "the writer has not opened the log within 60 s")
                sched_yield()
            }
            try folder.rename("events.jsonl", to: "events.jsonl.1")
            flock(file.number, LOCK_UN)
            try #require(done.wait(timeout: .now() + 60) == .success, "the writer is not done within 60 s")
            return try String(contentsOfFile: path + ".1", encoding: .utf8).isEmpty
                && FileManager.default.fileExists(atPath: path)
        }
        #expect(isProven)
    }

    /// How often this process has a file open.
    private func openCount(_ path: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
    }

    @Test func `a log that cannot be written is no failure`() throws {
        try "".write(toFile: temporary.path + "/credmgr", atomically: false, encoding: .utf8)
        log.append(event(1))
        #expect(try String(contentsOfFile: temporary.path + "/credmgr", encoding: .utf8) == "")
    }

    @Test(arguments: [
        "2023-11-14T22:13:20Z", "1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ])
    func `times are read as they are written`(text: String) {
        #expect(Timestamp(rfc3339: text)?.rfc3339 == text)
    }

    @Test(arguments: [
        "", "2023-11-14", "2023-02-29T00:00:00Z", "2023-13-01T00:00:00Z", "2023-00-10T00:00:00Z",
        "2023-11-14T24:00:00Z", "2023-11-14T22:60:00Z", "2023-11-14T22:13:20+00", "2023-11-14t22:13:20Z",
        "+023-11-14T22:13:20Z", "２023-11-14T22:13:2Z",
    ])
    func `an invalid time is refused`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }
}
