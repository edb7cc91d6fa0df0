import CredentialCore
import CryptoSupport
import FastToken
import TestPorts
import Testing

/// The cached answer, on a machine in memory.
@Suite struct FastTokenTests {
    private let machine = MemoryMachine(cryptography: LibCryptography())
    private let group = KeychainGroup.standard
    private var ports: MachinePorts { machine.process() }

    private func place(_ variables: [String: String] = [:]) -> FastPlace {
        let ports = ports
        return FastPlace(
            dataHome: ports.dataHome, typeFolders: ports.typeFolders, configurationFile: ports.configurationFile,
            variable: { variables[$0] }, tokenCache: ports.tokenCache, fileStates: ports.fileStates,
            clock: ports.clock)
    }

    /// Keeps a token of 600 seconds and the memo of a call that found it.
    private func keep(_ words: TokenWords, policy: String = "") {
        let now = machine.clock.now
        let account = Account(
            id: "0123456789abcdef", type: "Tasks", adapter: "memory",
            registration: Registration(provider: "p", clientID: "c"), subject: "s", store: .file, now: now)
        machine.setRecord(AccountRecord(group: group, account: account), of: account.id)
        let token = AccessToken(
            key: TokenRequestKey(policy: policy, scope: ["read"]), token: Secret("cached"), tokenType: "Bearer",
            issuedAt: now, expiresAt: now.adding(600), scope: ["read"])
        TokenCache(ports.tokenCache, files: ports.fileStates, dataFolder: ports.dataHome)
            .keep(token, of: "0123456789abcdef", in: group, now: now)
        TokenMemo(
            key: TokenCache.text(of: token.key), group: group.name,
            account: ("0123456789abcdef", "Tasks", "ada@example.com"), policy: policy
        ).keep(for: words, FileTies(["/memory/config.json"], ports.fileStates), in: place())
    }

    private func answer(_ words: [String], _ variables: [String: String] = [:]) -> String? {
        FastToken.answer(words) { place(variables) }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `the same words find the token again, from options as from the environment`() {
        keep(TokenWords(type: "Tasks"))
        #expect(answer(["token", "--type", "Tasks"]) == "cached\n")
        #expect(answer(["token"], ["CREDMGR_TYPE": "Tasks"]) == "cached\n")
        #expect(answer(["token", "--type=Tasks", "--format=header"]) == "Authorization: Bearer cached\n")
        #expect(
            answer(["token", "--type=Tasks", "--format=json"])?
                .contains(#""account":{"id":"0123456789abcdef","type":"Tasks","username":"ada@example.com"}"#)
                == true)
    }

    @Test(arguments: [
        ["token"], ["token", "--type", "Other"], ["token", "--type", "Tasks", "--group", "work"],
        ["token", "--type", "Tasks", "--account", "ada"], ["token", "--type", "Tasks", "--policy", "p"],
        ["token", "--type", "Tasks", "--scope", "read"], ["token", "--type", "Tasks", "--resource", "r"],
        ["token", "--type", "Tasks", "--audience", "a"],
    ])
    func `other words find nothing`(words: [String]) {
        keep(TokenWords(type: "Tasks"))
        #expect(answer(words) == nil)
    }

    @Test func `a token that is not fresh enough is left to the slower path`() {
        keep(TokenWords(type: "Tasks"))
        #expect(answer(["token", "--type", "Tasks", "--min-valid", "600"]) == "cached\n")
        machine.clock.pass(1)
        #expect(answer(["token", "--type", "Tasks", "--min-valid", "600"]) == nil)
        machine.clock.pass(539)
        #expect(answer(["token", "--type", "Tasks"]) == "cached\n")
        machine.clock.pass(1)
        #expect(answer(["token", "--type", "Tasks"]) == nil)
    }

    @Test func `nothing is told once a file has changed that it was concluded from`() {
        keep(TokenWords(type: "Tasks"))
        machine.setRecord(nil, of: "somebody")
        #expect(answer(["token", "--type", "Tasks"]) == nil)
    }

    @Test func `no machine is made for a call that is not plain`() {
        let answer = FastToken.answer(["accounts"]) {
            Issue.record("a machine was made")
            return nil
        }
        #expect(answer == nil)
    }

    @Test func `a memo that is cut, or has too much, is none`() throws {
        let words = TokenWords(type: "Tasks")
        keep(words)
        let name = try #require(words.memoName(in: place())), whole = try #require(ports.tokenCache.read(name))
        for length in 0..<whole.count {
            ports.tokenCache.write(Array(whole.prefix(length)), name: name, seconds: 1)
            #expect(answer(["token", "--type", "Tasks"]) == nil)
        }
        ports.tokenCache.write(whole + [0], name: name, seconds: 1)
        #expect(answer(["token", "--type", "Tasks"]) == nil)
        ports.tokenCache.write(whole, name: name, seconds: 1)
        #expect(answer(["token", "--type", "Tasks"]) == "cached\n")
    }

    /// One that was made of the words of two options could be another call's.
    @Test(arguments: [
        TokenWords(type: "a\nb"), TokenWords(account: "\n"), TokenWords(group: "g\n"), TokenWords(policy: "p\n"),
        TokenWords(scope: ["a\nb"]), TokenWords(resource: "https://r\n"), TokenWords(audience: "\na"),
    ])
    func `words with a line break have no memo`(words: TokenWords) {
        #expect(words.memoName(in: place()) == nil)
        keep(words)
        #expect(machine.cached.allSatisfy { if case .memo = $0 { false } else { true } })
    }

    @Test func `no two kinds of entry have the same owner`() throws {
        let text = try #require(TokenWords(type: "Tasks").memoName(in: place()))
        let names: [CacheEntryName] = [
            text, .token(dataFolder: "d", group: "g", account: "a", key: "k"), .dataKey("d"), .trial,
        ]
        #expect(Set(names.map { $0.owner.prefix { $0 != "\n" } }).count == names.count)
    }
}
