import Broker
import CredentialCore
import Synchronization
import Testing

@testable import LocalMachine

/// Consent by the configuration that applies at the time of the question.
@Suite struct NarrowedConsentTests {
    private let current: CurrentConfiguration
    private let start: BrokerConfiguration

    init() {
        start = BrokerConfiguration(name: "b")
        current = CurrentConfiguration(start)
    }

    private let caller = Caller(uid: 1, pid: 2, key: CallerKey(kind: .exe, value: "1:2"))

    private var question: ConsentQuestion {
        ConsentQuestion(
            caller: caller, entry: "e", account: "ada@example.com", type: "Work", scope: ["a"], broker: "b",
            always: false)
    }

    private var text: ConsentText { ConsentText(question) { $0.description } }

    @Test func `a prompt is not there when ask_by does not name it any more`() {
        let prompt = MemoryPrompt([.once, .once]), narrowed = NarrowedPrompt(current, .desktop, prompt)
        #expect(narrowed.ask(text, milliseconds: 1_000) == .once)
        var next = start
        next.askBy = [.terminal]
        current.put(next)
        #expect(narrowed.ask(text, milliseconds: 1_000) == nil)
        #expect(prompt.count == 1)
    }

    @Test func `a prompt ends earlier when prompt_timeout is shorter`() {
        let prompt = TimedPrompt(), narrowed = NarrowedPrompt(current, .desktop, prompt)
        _ = narrowed.ask(text, milliseconds: 60_000)
        var next = start
        next.promptTimeout = 5
        current.put(next)
        _ = narrowed.ask(text, milliseconds: 60_000)
        #expect(prompt.times.withLock { $0 } == [60_000, 5_000])
    }

    @Test func `a grant ends earlier when remember is shorter`() throws {
        let grants = MemoryGrants(), narrowed = NarrowedGrants(current, grants)
        let created = Timestamp(epochSeconds: 1_700_000_000)
        let grant = ConsentGrant(question, created: created, until: created.adding(8 * 3_600))
        try narrowed.add(grant, to: "b")
        #expect(try narrowed.grants(of: "b").map(\.until) == [grant.until])
        var next = start
        next.remember = 60
        current.put(next)
        #expect(try narrowed.grants(of: "b").map(\.until) == [created.adding(60)])
        try narrowed.add(grant, to: "b")
        #expect(try grants.grants(of: "b").map(\.until) == [grant.until, created.adding(60)])
    }

    @Test func `callers have a digest when the broker asks`() throws {
        let plain = NamedCaller(key: "plain"), digested = NamedCaller(key: "digested")
        let callers = NarrowedCallers(current, plain: plain, digested: digested)
        #expect(try callers.caller(ofSocket: 0).key.value == "digested")
        var next = start
        next.ask = .never
        current.put(next)
        #expect(try callers.caller(ofSocket: 0).key.value == "plain")
    }
}

private struct NamedCaller: CallerIdentifier {
    let key: String
    func caller(ofSocket descriptor: Int32) throws(CredentialError) -> Caller {
        Caller(uid: 1, pid: 2, key: CallerKey(kind: .exe, value: key))
    }
}

private final class TimedPrompt: ConsentPrompt {
    let times = Mutex<[Int32]>([])
    func ask(_ text: ConsentText, milliseconds: Int32) -> ConsentChoice? {
        times.withLock { $0.append(milliseconds) }
        return .once
    }
}

private final class MemoryGrants: ConsentGrants {
    private let list = Mutex<[ConsentGrant]>([])
    func brokers() throws(CredentialError) -> [String] { ["b"] }
    func grants(of broker: String) throws(CredentialError) -> [ConsentGrant] { list.withLock { $0 } }
    func add(_ grant: ConsentGrant, to broker: String) throws(CredentialError) {
        list.withLock { $0.append(grant) }
    }
    func forget(_ caller: CallerKey?, of broker: String) throws(CredentialError) -> Int { 0 }
}
