import Broker
import CredentialCore
import CryptoSupport
import Foundation
import LocalFiles
import Platform
import Synchronization
import TestSupport
import Testing

@testable import LocalMachine

/// A prompt whose answers a test gives.
final class MemoryPrompt: ConsentPrompt {
    let answers: Mutex<[ConsentChoice?]>
    let asked = Atomic<Int>(0)
    /// Holds each prompt open until it is called.
    let gate: DispatchSemaphore?
    let opened = DispatchSemaphore(value: 0)

    init(_ answers: [ConsentChoice?], gate: DispatchSemaphore? = nil) {
        self.answers = Mutex(answers)
        self.gate = gate
    }

    func ask(_ text: ConsentText, milliseconds: Int32) -> ConsentChoice? {
        asked.add(1, ordering: .sequentiallyConsistent)
        opened.signal()
        if let gate, gate.wait(timeout: .now() + 10) == .timedOut { return .timeout }
        return answers.withLock { $0.isEmpty ? .no : $0.removeFirst() }
    }

    var count: Int { asked.load(ordering: .sequentiallyConsistent) }
}

/// A log in memory.
final class MemoryAudit: AuditWriter {
    let events = Mutex<[AuditEvent]>([])
    func write(_ event: AuditEvent) throws(CredentialError) { events.withLock { $0.append(event) } }
}

final class SetClock: WallClock {
    private let value = Mutex(Timestamp(epochSeconds: 1_700_000_000))
    var now: Timestamp { value.withLock { $0 } }
    func pass(_ seconds: Int64) { value.withLock { $0 = $0.adding(seconds) } }
}

@Suite struct PromptingConsentTests {
    private let temporary: TemporaryFolder
    private let audit = MemoryAudit()
    private let clock = SetClock()

    init() throws { temporary = try TemporaryFolder() }

    private var grants: GrantFiles {
        GrantFiles(
            stateHome: temporary.path, random: SystemRandom(), cryptography: LibCryptography(), clock: clock)
    }

    private func consent(_ prompts: [any ConsentPrompt], timeout: Int32 = 5_000) -> PromptingConsent {
        var parts = PromptingConsent.Parts(broker: "b", prompts: prompts, grants: grants, audit: audit)
        parts.clock = clock
        parts.timeout = timeout
        return PromptingConsent(parts)
    }

    private func question(
        _ key: String = "1:2", entry: String = "e", scope: [String] = ["a"], always: Bool = false,
        account: String = "ada@example.com", origin: String? = nil
    ) -> ConsentQuestion {
        ConsentQuestion(
            caller: Caller(uid: 1, pid: 2, executable: "/usr/bin/x", key: CallerKey(kind: .exe, value: key)),
            entry: entry,
            account: account, type: "Work", scope: scope, origin: origin, broker: "b", always: always)
    }

    @Test func `PromptingConsent prompts each time when the answer is once`() {
        let prompt = MemoryPrompt([.once, .once]), consent = consent([prompt])
        #expect(consent.decide(question()) == .granted)
        #expect(consent.decide(question()) == .granted)
        #expect(prompt.count == 2)
        let kinds = audit.events.withLock { $0.map { "\($0.what.rawValue) \($0.reason ?? "-")" } }
        #expect(kinds == ["ask -", "answer once", "ask -", "answer once"])
    }

    @Test func `PromptingConsent remembers a consent until its end, also after a start`() throws {
        let prompt = MemoryPrompt([.remember, .remember])
        #expect(consent([prompt]).decide(question()) == .granted)
        #expect(consent([prompt]).decide(question()) == .granted)
        #expect(prompt.count == 1)
        #expect(try grants.grants(of: "b").count == 1)
        #expect(try grants.brokers() == ["b"])
        clock.pass(8 * 3_600)
        #expect(consent([prompt]).decide(question()) == .granted)
        #expect(prompt.count == 2)
    }

    @Test func `PromptingConsent prompts again after broker forget`() throws {
        let prompt = MemoryPrompt([.remember, .remember, .no]), consent = consent([prompt])
        #expect(consent.decide(question()) == .granted)
        #expect(try grants.forget(CallerKey(kind: .exe, value: "1:2"), of: "b") == 1)
        #expect(consent.decide(question()) == .granted)
        #expect(try grants.forget(nil, of: "b") == 1)
        #expect(consent.decide(question()) == .refused)
    }

    @Test func `PromptingConsent prompts for another entry, caller or scope`() {
        let prompt = MemoryPrompt([.remember, .no, .no, .no]), consent = consent([prompt])
        #expect(consent.decide(question()) == .granted)
        #expect(consent.decide(question(entry: "f")) == .refused)
        #expect(consent.decide(question("1:3")) == .refused)
        #expect(consent.decide(question(scope: ["a", "z"])) == .refused)
    }

    @Test func `PromptingConsent prompts for another account or origin, and keeps both consents`() throws {
        let prompt = MemoryPrompt([.remember, .remember, .remember, .no]), consent = consent([prompt])
        for _ in 0..<2 {
            #expect(consent.decide(question()) == .granted)
            #expect(consent.decide(question(account: "eve@example.com")) == .granted)
            #expect(consent.decide(question(origin: "https://a.example")) == .granted)
        }
        #expect(prompt.count == 3)
        #expect(try grants.grants(of: "b").count == 3)
        #expect(consent.decide(question(origin: "https://b.example")) == .refused)
    }

    @Test func `PromptingConsent stores no grant when each request needs a prompt`() throws {
        let prompt = MemoryPrompt([.remember, .no]), consent = consent([prompt])
        #expect(consent.decide(question(always: true)) == .granted)
        #expect(consent.decide(question(always: true)) == .refused)
        #expect(try grants.grants(of: "b").isEmpty)
    }

    @Test func `PromptingConsent refuses without a prompt after three refusals`() {
        let prompt = MemoryPrompt([.no, .timeout, .no, .once]), consent = consent([prompt])
        for _ in 0..<3 { #expect(consent.decide(question()) == .refused) }
        #expect(consent.decide(question()) == .refusedForNow)
        #expect(consent.decide(question(entry: "other")) == .refusedForNow)
        #expect(prompt.count == 3)
        #expect(self.consent([prompt]).decide(question()) == .granted)
    }

    @Test func `PromptingConsent ends the broker when the answer is close`() {
        #expect(consent([MemoryPrompt([.close])]).decide(question()) == .closeBroker)
    }

    @Test func `PromptingConsent uses the next prompt when one is not here`() {
        let here = MemoryPrompt([.once])
        #expect(consent([MemoryPrompt([nil]), here]).decide(question()) == .granted)
        #expect(here.count == 1)
        #expect(consent([MemoryPrompt([nil])]).decide(question()) == .noPrompt)
        #expect(consent([]).decide(question()) == .noPrompt)
    }

    @Test func `PromptingConsent shares one prompt among 100 requests`() {
        let gate = DispatchSemaphore(value: 0), prompt = MemoryPrompt([.once], gate: gate)
        let consent = consent([prompt], timeout: 10_000), question = question(), granted = Atomic<Int>(0)
        let group = DispatchGroup()
        for _ in 0..<100 {
            group.enter()
            Thread.detachNewThread {
                if consent.decide(question) == .granted { granted.add(1, ordering: .sequentiallyConsistent) }
                group.leave()
            }
        }
        #expect(prompt.opened.wait(timeout: .now() + 10) == .success)
        // The other requests join while the prompt is open; a late one would prompt again, and be refused.
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 1)
        gate.signal()
        #expect(group.wait(timeout: .now() + 20) == .success)
        #expect(granted.load(ordering: .sequentiallyConsistent) == 100)
        #expect(prompt.count == 1)
    }

    @Test func `PromptingConsent refuses a request that waits too long for another prompt`() {
        let gate = DispatchSemaphore(value: 0), prompt = MemoryPrompt([.once], gate: gate)
        let consent = consent([prompt], timeout: 200), first = question(), done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            _ = consent.decide(first)
            done.signal()
        }
        #expect(prompt.opened.wait(timeout: .now() + 10) == .success)
        #expect(consent.decide(question(entry: "f")) == .refused)
        gate.signal()
        #expect(done.wait(timeout: .now() + 10) == .success)
    }

    @Test func `GrantFiles reports a file that was changed, and replaces it`() throws {
        let prompt = MemoryPrompt([.remember, .remember])
        #expect(consent([prompt]).decide(question()) == .granted)
        let path = temporary.path + "/credmgr/brokers/b/grants"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("/usr/bin/x"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o600) == 0)
        #expect(throws: CredentialError.self) { try grants.grants(of: "b") }
        #expect(consent([prompt]).decide(question()) == .granted)
        #expect(try grants.grants(of: "b").count == 1)
    }
}
