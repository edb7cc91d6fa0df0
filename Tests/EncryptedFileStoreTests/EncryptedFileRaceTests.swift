import CredentialCore
import EncryptedFileStore
import Foundation
import TestSupport
import Testing

@Suite struct EncryptedFileRaceTests {
    let fixture = Result { try EncryptedFileFixture() }

    @Test func `twenty processes that write at once lose nothing`() async throws {
        let path = try fixture.get().folder.path
        await withTaskGroup { group in
            for process in 0..<20 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String, process = process as Int] in
                        let store = EncryptedFileFixture.store(path)
                        for round in 0..<3 {
                            let secret = Array("\(process) \(round)".utf8)
                            try store.write(secret, for: item("\(process)-\(round)"), label: "")
                        }
                    }
                }
            }
        }
        let store = try fixture.get().store()
        for process in 0..<20 {
            for round in 0..<3 {
                #expect(try store.read(item("\(process)-\(round)")) == Array("\(process) \(round)".utf8))
            }
        }
    }

    @Test func `threads that make the first key file and write at once lose nothing`() throws {
        let fixture = try fixture.get()
        DispatchQueue.concurrentPerform(iterations: 40) { number in
            #expect(throws: Never.self) { try fixture.store().write([1], for: item("\(number)"), label: "") }
        }
        #expect(try fixture.store().items(of: .standard, kind: .tokenSet).count == 40)
    }

    @Test func `a process killed while it writes leaves the last generation or the one it was writing`()
        async throws
    {
        let fixture = try fixture.get()
        let path = fixture.folder.path
        try fixture.store().write(Array("0".utf8), for: item("counter"), label: "")
        try fixture.store().write([7], for: item("witness"), label: "")
        for microseconds in stride(from: 0, to: 40_000, by: 2_000) {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, microseconds = microseconds as Int] in
                let store = EncryptedFileFixture.store(path)
                let counter = try #require(try store.read(item("counter")))
                let start = try #require(Int(String(decoding: counter, as: UTF8.self)))
                Thread.detachNewThread {
                    usleep(UInt32(microseconds))
                    kill(getpid(), SIGKILL)
                }
                for number in (start + 1)... {
                    try store.write(Array(String(number).utf8), for: item("counter"), label: "")
                    // Each acknowledged number is recorded outside of the store.
                    try Data(String(number).utf8).write(to: URL(fileURLWithPath: path + "/acknowledged"))
                }
            }
            let store = fixture.store()
            let text = try String(decoding: #require(try store.read(item("counter"))), as: UTF8.self)
            let stored = try #require(Int(text))
            let record = (try? String(contentsOfFile: path + "/acknowledged", encoding: .utf8)) ?? "0"
            // The record itself may have been cut by the kill; then it is empty.
            #expect(stored >= Int(record) ?? 0, "after \(microseconds) µs")
            #expect(try store.read(item("witness")) == [7])
            #expect(fixture.reports.isEmpty)
            try store.write([7, 7], for: item("writable"), label: "\(microseconds)")
        }
        let counter = try #require(try fixture.store().read(item("counter")))
        #expect(counter != Array("0".utf8), "the kills came before any write")
    }
}
