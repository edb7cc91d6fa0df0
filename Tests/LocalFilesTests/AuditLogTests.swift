import Broker
import CredentialCore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LocalFiles

/// The audit log of a broker, in real files.
@Suite struct AuditLogTests {
    private let temporary: TemporaryFolder
    private let clock = TestMilliseconds()
    private let folder: String

    init() throws {
        temporary = try TemporaryFolder()
        folder = temporary.path + "/credmgr/audit/b"
    }

    private func log(_ retention: AuditRetention = AuditRetention()) -> AuditLogFile {
        AuditLogFile(broker: "b", stateHome: temporary.path, time: { [clock] in clock.now }, retention: retention)
    }

    private var logs: AuditLogFiles { AuditLogFiles(stateHome: temporary.path, time: { [clock] in clock.now }) }

    private func file(_ month: String = "2023-11") -> String { "\(folder)/\(month).jsonl" }

    private func text(_ month: String = "2023-11") throws -> String {
        try String(contentsOfFile: file(month), encoding: .utf8)
    }

    private let caller = Caller(
        uid: 1_000, pid: 42, start: 123, executable: "/usr/bin/git", cgroup: "/a",
        key: CallerKey(kind: .exe, value: "1:2"))

    @Test func `AuditLogFile writes the members in order`() throws {
        let log = log()
        try log.write(AuditEvent(.start))
        try log.write(
            AuditEvent(
                .issue, entry: "work", account: "3f0c", origin: nil, caller: caller, token: Secret("token")))
        let lines = try text().split(separator: "\n").map(String.init)
        #expect(
            lines[0] == """
                {"t":"2023-11-14T22:13:20.123Z","n":1,"broker":"b","what":"start","entry":null,"account":null,\
                "origin":null,"caller":null,"why":null,"reason":null,"token":null,\
                "p":"00000000000000000000000000000000"}
                """)
        #expect(
            lines[1].hasPrefix(
                """
                {"t":"2023-11-14T22:13:20.123Z","n":2,"broker":"b","what":"issue","entry":"work","account":"3f0c",\
                "origin":null,"caller":{"uid":1000,"pid":42,"start":123,"exe":"/usr/bin/git","cgroup":"/a","ssh":null,\
                "key":"exe"},"why":null,"reason":null,"token":"
                """))
        #expect(!(try text().contains("\"token\":\"token\"")))
        let mode = try FileManager.default.attributesOfItem(atPath: file())[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let keyMode =
            try FileManager.default.attributesOfItem(
                atPath: temporary.path + "/credmgr/audit.key")[.posixPermissions] as? Int
        #expect(keyMode == 0o600)
        #expect(try logs.verify("b").number == 2)
    }

    @Test func `AuditLogFile gives the same tag for the same token after a start`() throws {
        try log().write(AuditEvent(.issue, token: Secret("one")))
        try log().write(AuditEvent(.issue, token: Secret("one")))
        try log().write(AuditEvent(.issue, token: Secret("two")))
        let tags = try text().split(separator: "\n").map {
            $0.components(separatedBy: "\"token\":\"")[1].prefix(16)
        }
        #expect(tags[0] == tags[1])
        #expect(tags[1] != tags[2])
    }

    @Test func `AuditLogFile keeps a line within 4,096 bytes when its strings are long`() throws {
        var long = caller
        long.executable = String(repeating: "ä\u{1}", count: 9_000)
        long.cgroup = String(repeating: "\"", count: 9_000)
        long.ssh = String(repeating: "x", count: 9_000)
        let event = AuditEvent(
            .deny, entry: long.ssh, account: long.cgroup, origin: long.executable, caller: long, why: long.ssh,
            reason: long.ssh)
        let log = log()
        try log.write(event)
        try log.write(event)
        #expect(try text().split(separator: "\n").allSatisfy { $0.utf8.count < 4_096 })
        #expect(try logs.verify("b").count == 2)
    }

    @Test func `AuditLogFile goes on after a kill at any byte of the last line`() throws {
        let log = log()
        try log.write(AuditEvent(.start))
        try log.write(AuditEvent(.issue, entry: "e", caller: caller, token: Secret("t")))
        let whole = try Data(contentsOf: URL(fileURLWithPath: file()))
        let first = try #require(whole.firstIndex(of: 0x0A))
        for size in (first + 1)..<whole.count {
            try whole.prefix(size).write(to: URL(fileURLWithPath: file()))
            if size > first + 1 {
                let error = #expect(throws: CredentialError.self) { try logs.verify("b") }
                #expect(error?.message.contains("2023-11.jsonl:2: the last line is incomplete") == true)
                #expect(error?.code.exitStatus == 1)
            }
            let next = self.log()
            try next.write(AuditEvent(.start))
            try next.write(AuditEvent(.stop))
            #expect(throws: Never.self, "after \(size) bytes") { try logs.verify("b") }
        }
    }

    @Test func `AuditLogFile goes on after a kill in each of three starts`() throws {
        try log().write(AuditEvent(.start))
        for _ in 0..<3 {
            let data = try Data(contentsOf: URL(fileURLWithPath: file()))
            try (data + Data("{\"t\":\"2023".utf8)).write(to: URL(fileURLWithPath: file()))
            try log().write(AuditEvent(.issue, entry: "e"))
        }
        let result = try logs.verify("b")
        #expect(result.number == 10)
        #expect(try text().components(separatedBy: "incomplete_line").count == 4)
    }

    @Test func `audit verify names file and line when a line was changed, removed or added`() throws {
        let log = log()
        for number in 0..<5 { try log.write(AuditEvent(.issue, entry: "e\(number)")) }
        let lines = try text().components(separatedBy: "\n").dropLast()
        func fault(_ changed: [String]) throws -> String? {
            try Data((changed.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: file()))
            return #expect(throws: CredentialError.self) { try logs.verify("b") }?.message
        }
        var changed = Array(lines)
        changed[1] = changed[1].replacingOccurrences(of: "e1", with: "e9")
        #expect(try fault(changed)?.contains(".jsonl:3: the line before was changed") == true)
        changed = Array(lines)
        changed.remove(at: 2)
        #expect(try fault(changed)?.contains(".jsonl:3: expected line number 3 but got 4") == true)
        changed = Array(lines)
        changed.insert("x", at: 2)
        #expect(try fault(changed)?.contains(".jsonl:3: the line is not readable") == true)
        changed = Array(lines)
        changed[4] = changed[4].replacingOccurrences(of: "null,", with: "nul,")
        #expect(try fault(changed)?.contains(".jsonl:5: the line is not readable") == true)
    }

    @Test func `AuditLogFile joins the months of a log by one chain`() throws {
        let log = log()
        try log.write(AuditEvent(.start))
        clock.now += 31 * 86_400_000
        try log.write(AuditEvent(.issue))
        try self.log().write(AuditEvent(.start))
        #expect(try text("2023-12").split(separator: "\n").count == 2)
        #expect(try logs.verify("b").number == 3)
    }

    @Test func `AuditLogFile covers a cut line when the next start is in another month`() throws {
        try log().write(AuditEvent(.start))
        let data = try Data(contentsOf: URL(fileURLWithPath: file()))
        try (data + Data("{\"t\"".utf8)).write(to: URL(fileURLWithPath: file()))
        clock.now += 31 * 86_400_000
        try log().write(AuditEvent(.start))
        #expect(try text().hasSuffix("{\"t\"\n"))
        #expect(try logs.verify("b").number == 3)
    }

    @Test func `AuditLogFile stays in the latest file when the clock goes back`() throws {
        let log = log()
        try log.write(AuditEvent(.start))
        clock.now -= 40 * 86_400_000
        try log.write(AuditEvent(.issue))
        try self.log().write(AuditEvent(.start))
        #expect(try logs.verify("b").number == 3)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["2023-11.jsonl", "lock"])
    }

    @Test func `AuditLogFile joins the lines of two writers`() throws {
        let one = log(), other = log()
        for _ in 0..<10 {
            try one.write(AuditEvent(.issue, entry: "one"))
            try other.write(AuditEvent(.issue, entry: "other"))
        }
        #expect(try logs.verify("b").number == 20)
    }

    @Test func `AuditLogFile joins the lines of eight threads`() throws {
        let log = log(), failures = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<25 {
                do { try log.write(AuditEvent(.issue)) } catch { failures.add(1, ordering: .relaxed) }
            }
        }
        #expect(failures.load(ordering: .relaxed) == 0)
        #expect(try logs.verify("b").number == 200)
    }

    @Test func `audit prune removes old lines beside a running writer`() throws {
        let log = log()
        for _ in 0..<20 {
            try log.write(AuditEvent(.issue))
            clock.now += 86_400_000
        }
        #expect(try logs.prune("b", olderThan: 5 * 86_400) > 0)
        try log.write(AuditEvent(.issue))
        let result = try logs.verify("b")
        #expect(result.number == 21)
        #expect(result.count == 6)
        #expect(try logs.head(of: "b").digest == result.head)
    }

    @Test func `audit prune keeps the last line`() throws {
        let log = log()
        for _ in 0..<3 { try log.write(AuditEvent(.issue)) }
        clock.now += 200 * 86_400_000
        _ = try logs.prune("b", olderThan: nil)
        #expect(try logs.verify("b").count == 1)
        try log.write(AuditEvent(.issue))
        #expect(try logs.verify("b").number == 4)
    }

    @Test func `audit prune keeps the last whole line when the line after it is cut`() throws {
        let log = log()
        for _ in 0..<3 { try log.write(AuditEvent(.issue)) }
        let data = try Data(contentsOf: URL(fileURLWithPath: file()))
        try (data + Data("{\"t\":\"2023".utf8)).write(to: URL(fileURLWithPath: file()))
        clock.now += 200 * 86_400_000
        _ = try logs.prune("b", olderThan: nil)
        #expect(try text().split(separator: "\n").count == 2)
        try self.log().write(AuditEvent(.start))
        let last = try #require(try text("2024-06").split(separator: "\n").last)
        #expect(last.contains("\"n\":5,"))
        #expect(try logs.verify("b").number == 5)
    }

    @Test func `AuditLogFile makes the file of the month before durable when the month changes`() throws {
        let paths = Mutex<[String]>([])
        let log = AuditLogFile(
            broker: "b", stateHome: temporary.path, time: { [clock] in clock.now },
            synced: { path in paths.withLock { $0.append(path) } })
        try log.write(AuditEvent(.issue))
        clock.now += 31 * 86_400_000
        try log.write(AuditEvent(.issue))
        #expect(paths.withLock { $0.contains { $0.hasSuffix("2023-11.jsonl") } })
    }

    @Test func `AuditLogFile removes the oldest lines when the log is too large`() throws {
        let log = log(AuditRetention(bytes: 100_000))
        for _ in 0..<10_000 { try log.write(AuditEvent(.issue)) }
        try self.log(AuditRetention(bytes: 100_000)).write(AuditEvent(.start))
        let size = try Data(contentsOf: URL(fileURLWithPath: file())).count
        #expect(size <= 100_000)
        #expect(try logs.verify("b").number == 10_001)
    }

    @Test func `audit verify checks 100,000 lines`() throws {
        let log = log()
        for _ in 0..<100_000 { try log.write(AuditEvent(.issue, entry: "e", caller: caller)) }
        let result = try logs.verify("b")
        #expect(result.count == 100_000)
        #expect(result.number == 100_000)
    }

    @Test func `AuditLogFile reports a full disk as temporary and goes on when there is room`() throws {
        guard geteuid() == 0 else { return }
        let disk = temporary.path + "/disk"
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
        guard system("mount -t tmpfs -o size=64k,mode=700 tmpfs \(disk)") == 0 else { return }
        defer { _ = system("umount \(disk)") }
        let log = AuditLogFile(broker: "b", stateHome: disk, time: { [clock] in clock.now })
        let logs = AuditLogFiles(stateHome: disk, time: { [clock] in clock.now })
        var failure: CredentialError?, count = 0
        while failure == nil, count < 2_000 {
            do throws(CredentialError) {
                try log.write(AuditEvent(.issue))
                count += 1
            } catch { failure = error }
        }
        #expect(failure?.code == .temporary)
        #expect(try logs.verify("b").count == Int64(count))
        #expect(throws: CredentialError.self) { try log.write(AuditEvent(.issue)) }
        #expect(system("mount -o remount,size=1m \(disk)") == 0)
        try log.write(AuditEvent(.issue))
        #expect(try logs.verify("b").number == Int64(count) + 1)
    }

    @Test func `AuditLogFiles reads on after its end and over a month`() throws {
        let log = log(), logs = logs
        try log.write(AuditEvent(.start))
        let lines = try logs.lines(of: "b")
        #expect(try lines.next() != nil)
        #expect(try lines.next() == nil)
        try log.write(AuditEvent(.issue))
        clock.now += 31 * 86_400_000
        try log.write(AuditEvent(.stop))
        #expect(try lines.next().map { String(decoding: $0, as: UTF8.self).contains("\"issue\"") } == true)
        #expect(try lines.next().map { String(decoding: $0, as: UTF8.self).contains("\"stop\"") } == true)
        #expect(try lines.next() == nil)
        _ = try logs.prune("b", olderThan: 0)
        try log.write(AuditEvent(.deny))
        #expect(try lines.next().map { String(decoding: $0, as: UTF8.self).contains("\"deny\"") } == true)
        #expect(try lines.next() == nil)
    }

    @Test func `AuditLogFiles removes a log`() throws {
        try log().write(AuditEvent(.start))
        #expect(try logs.brokers() == ["b"])
        try logs.remove("b")
        #expect(try logs.brokers().isEmpty)
        try log().write(AuditEvent(.start))
        #expect(try logs.verify("b").number == 1)
    }

    @Test func `AuditLogFile gives each line to the journal`() throws {
        let copies = Mutex<[String]>([])
        let log = AuditLogFile(
            broker: "b", stateHome: temporary.path, time: { [clock] in clock.now },
            copy: { line in copies.withLock { $0.append(line) } })
        try log.write(AuditEvent(.start))
        #expect(try copies.withLock { $0.joined() } + "\n" == text())
    }
}

/// A clock that a test sets, in milliseconds.
final class TestMilliseconds: Sendable {
    private let value = Mutex<Int64>(1_700_000_000_123)

    var now: Int64 {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
