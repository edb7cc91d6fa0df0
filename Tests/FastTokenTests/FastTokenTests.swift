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

    private func place(_ variables: [String: String] = [:]) -> FastPathEnvironment {
        let ports = ports
        return FastPathEnvironment(
            dataHome: ports.dataHome, typeFolders: ports.typeFolders, configurationFile: ports.configurationFile,
            variable: { variables[$0] }, tokenCache: ports.tokenCache, fileStates: ports.fileStates,
            clock: ports.clock)
    }

    /// Keeps a token of 600 seconds and the memo of a call that found it.
    private func keep(
        _ words: CallSignature, policy: String = "", gitUsername: String? = nil, _ variables: [String: String] = [:]
    ) {
        let now = machine.clock.now
        let account = Account(
            id: "0123456789abcdef", type: "Tasks", adapter: "memory",
            registration: ClientIdentity(provider: "p", clientID: "c"), subject: "s", store: .file, now: now)
        machine.setRecord(AccountRecord(group: group, account: account), of: account.id)
        let token = AccessToken(
            key: TokenRequestKey(policy: policy, scope: ["read"]), token: Secret("cached"), tokenType: "Bearer",
            issuedAt: now, expiresAt: now.adding(600), scope: ["read"])
        TokenCache(ports.tokenCache, files: ports.fileStates, dataFolder: ports.dataHome)
            .keep(token, of: "0123456789abcdef", in: group, now: now)
        ResolvedCall(
            key: TokenCache.text(of: token.key), group: group.name,
            account: ("0123456789abcdef", "Tasks", "ada@example.com"), policy: policy, gitUsername: gitUsername
        ).keep(for: words, CacheValidators(["/memory/config.json"], ports.fileStates), in: place(variables))
    }

    private func answer(
        _ words: [String], _ variables: [String: String] = [:], message: String? = nil
    ) -> String? {
        FastToken.answer(words, message: { message.map { Array($0.utf8) } }, in: { place(variables) })
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `the same words find the token again, from options as from the environment`() {
        keep(CallSignature(type: "Tasks"))
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
        keep(CallSignature(type: "Tasks"))
        #expect(answer(words) == nil)
    }

    @Test func `a token that is not fresh enough is left to the slower path`() {
        keep(CallSignature(type: "Tasks"))
        #expect(answer(["token", "--type", "Tasks", "--min-valid", "600"]) == "cached\n")
        machine.clock.pass(1)
        #expect(answer(["token", "--type", "Tasks", "--min-valid", "600"]) == nil)
        machine.clock.pass(539)
        #expect(answer(["token", "--type", "Tasks"]) == "cached\n")
        machine.clock.pass(1)
        #expect(answer(["token", "--type", "Tasks"]) == nil)
    }

    @Test func `nothing is told once a file has changed that it was concluded from`() {
        keep(CallSignature(type: "Tasks"))
        machine.setRecord(nil, of: "somebody")
        #expect(answer(["token", "--type", "Tasks"]) == nil)
    }

    @Test func `no machine is made, and no message read, for a call that is not plain`() {
        for words in [["accounts"], ["git-credential", "store"], ["git-credential", "get", "-v"]] {
            let answer = FastToken.answer(
                words,
                message: {
                    Issue.record("a message was read")
                    return nil
                },
                in: {
                    Issue.record("a machine was made")
                    return nil
                })
            #expect(answer == nil)
        }
    }

    private static let message = "protocol=https\nhost=git.example.com\n\n"

    @Test func `git is answered by user name and password, or by a bearer`() {
        let words = CallSignature(asker: .git(message: Array(Self.message.utf8)))
        let end = machine.clock.now.adding(600).epochSeconds
        keep(words, gitUsername: "oauth2")
        #expect(
            answer(["git-credential", "get"], message: Self.message)
                == "username=oauth2\npassword=cached\npassword_expiry_utc=\(end)\n")
        keep(words)
        #expect(
            answer(["git-credential", "get"], message: Self.message)
                == "capability[]=authtype\nauthtype=Bearer\ncredential=cached\nephemeral=1\n"
                + "password_expiry_utc=\(end)\n")
    }

    @Test func `git messages are distinguished to the last byte, and from other callers' input`() {
        keep(CallSignature(asker: .git(message: Array(Self.message.utf8))), gitUsername: "oauth2")
        for message in [
            nil, "", "protocol=https\nhost=git.example.com\n", Self.message + "\n",
            "protocol=https\nhost=git.example.org\n\n", "protocol=http\nhost=git.example.com\n\n",
            "protocol=https\nhost=git.example.com\nusername=ada\n\n",
        ] { #expect(answer(["git-credential", "get"], message: message) == nil) }
        for words in [
            ["git-credential", "get", "--type", "Tasks"], ["git-credential", "get", "--account", "ada"],
            ["git-credential", "get", "--group", "work"], ["token"], ["kubernetes"],
        ] { #expect(answer(words, message: Self.message) == nil) }
        #expect(
            answer(["git-credential", "get"], ["CREDMGR_ACCOUNT": "eve"], message: Self.message) == nil)
        // A message that is not text could be taken for another message that is not text.
        #expect(CallSignature(asker: .git(message: [0xFF])).memoName(in: place()) == nil)
    }

    @Test func `kubectl gets an answer only for the content of its variable`() {
        let info =
            #"{"apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"cluster":{"server":"https://a"}}}"#
        let variables = ["KUBERNETES_EXEC_INFO": info]
        keep(CallSignature(type: "Tasks", asker: .kubectl), variables)
        let object = answer(["kubernetes", "--type", "Tasks"], variables)
        #expect(object?.contains(#""apiVersion":"client.authentication.k8s.io/v1beta1""#) == true)
        #expect(object?.contains(#""token":"cached""#) == true)
        #expect(answer(["kubernetes", "--type", "Tasks"]) == nil)
        #expect(
            answer(
                ["kubernetes", "--type", "Tasks"],
                ["KUBERNETES_EXEC_INFO": info.replacing("https://a", with: "https://b")]) == nil)
        #expect(answer(["token", "--type", "Tasks"], variables) == nil)
        #expect(answer(["kubernetes"], variables) == nil)
    }

    @Test func `a call that too many files decide has no memo`() throws {
        let words = CallSignature(type: "Tasks"), name = try #require(words.memoName(in: place()))
        for (count, isKept) in [(256, true), (257, false)] {
            let ties = CacheValidators((0..<count).map { "/memory/types/\($0).json" }, ports.fileStates)
            ports.tokenCache.remove(name)
            ResolvedCall(key: "k", group: "g", account: ("a", "t", nil), policy: "").keep(
                for: words, ties, in: place())
            #expect((ports.tokenCache.read(name) != nil) == isKept)
        }
    }

    @Test func `a memo that is cut, or has too much, is none`() throws {
        let words = CallSignature(type: "Tasks")
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
        CallSignature(type: "a\nb"), CallSignature(account: "\n"), CallSignature(group: "g\n"),
        CallSignature(policy: "p\n"),
        CallSignature(scope: ["a\nb"]), CallSignature(resource: "https://r\n"), CallSignature(audience: "\na"),
    ])
    func `words with a line break have no memo`(words: CallSignature) {
        #expect(words.memoName(in: place()) == nil)
        keep(words)
        #expect(machine.cached.allSatisfy { if case .memo = $0 { false } else { true } })
    }

    @Test func `no two kinds of entry have the same owner`() throws {
        let text = try #require(CallSignature(type: "Tasks").memoName(in: place()))
        let names: [CacheKey] = [
            text, .token(dataFolder: "d", group: "g", account: "a", key: "k"), .dataKey("d"), .trial,
        ]
        #expect(Set(names.map { $0.owner.prefix { $0 != "\n" } }).count == names.count)
    }
}
