import CredentialCore
import CryptoSupport
import FastToken
import OAuth
import Synchronization
import TestCommands
import TestPorts
import Testing

@testable import Commands

/// A file with a token that is kept valid.
@Suite struct TokenFileRefresherTests {
    private let scene = CommandScene(cryptography: LibCryptography())
    private let console = MemoryConsole()

    /// A keeper of the token of a user who has just signed in.
    private func keeper(
        _ query: TokenQuery = TokenQuery(), endsLine: Bool = true, isWithdrawn: Bool = false
    ) throws -> TokenFileRefresher {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let session = try scene.session(console)
        let file = try scene.programs.runtimeFile("token-", suffix: "")
        return TokenFileRefresher(
            session, query, try TargetResolver(session).target(TargetOptions(type: "Tasks")),
            file: isWithdrawn ? OutputFile(path: file.path, programs: scene.programs) : file, endsLine: endsLine,
            isWithdrawn: isWithdrawn)
    }

    /// A file as `token --output` writes it.
    private struct OutputFile: PrivateFile {
        let path: String
        let programs: MemoryPrograms
        func write(_ bytes: [UInt8]) throws(CredentialError) {
            try programs.replaceFile(path, bytes, isProgram: false, isSecret: true)
        }
        func remove() {}
        func withdraw() throws(CredentialError) { try programs.withdrawFile(path) }
    }

    private func content(_ keeper: TokenFileRefresher) -> String? { scene.machine.file(keeper.path) }

    /// Keeps until so many pauses were made.
    private func keep(
        _ keeper: TokenFileRefresher, for pauses: Int, meanwhile: @escaping @Sendable (Int) -> Void = { _ in }
    ) -> (failure: CredentialError?, waits: [Int]) {
        let waits = Waits()
        scene.programs.whenPaused { seconds in
            meanwhile(waits.add(seconds))
            if waits.all.count == pauses { try? keeper.end() }
        }
        return (keeper.keep(), waits.all)
    }

    @Test func `the first token is in the file, and given`() throws {
        let keeper = try keeper()
        #expect(try keeper.start() == "access-ada-1")
        #expect(content(keeper) == "access-ada-1\n")
        try keeper.end()
        #expect(content(keeper) == nil)
    }

    @Test func `a newline ends the token only if it is requested`() throws {
        let keeper = try keeper(endsLine: false)
        _ = try keeper.start()
        #expect(content(keeper) == "access-ada-1")
    }

    @Test func `a token that an environment cannot refresh is valid for five minutes more`() throws {
        let keeper = try keeper()
        scene.machine.clock.pass(3_400)
        #expect(try keeper.start() == "access-ada-1")
        #expect(try keeper.start(isForEnvironment: true) == "access-ada-2")
    }

    @Test func `a failure with the longer token for an environment is reported, too`() throws {
        _ = try keeper()
        let trace = PortTrace()
        trace.fail("secret-service.write", with: CredentialError(.storeUnavailable, "it is full"))
        var context = scene.context(console)
        context.machine.programs = MemoryWorker(scene.machine, caller: PortTrace(), worker: trace)
        let known = try scene.session(console)
        let session = CommandSession(context: context, options: known.options, notices: known.notices)
        let keeper = TokenFileRefresher(
            session, TokenQuery(), try TargetResolver(session).target(TargetOptions(type: "Tasks")),
            file: try scene.programs.runtimeFile("token-", suffix: ""))
        scene.machine.clock.pass(3_400)
        #expect(try keeper.start(isForEnvironment: true) == "access-ada-2")
        #expect(console.notices.contains("did not store the new tokens (it is full)"), "\(console.notices)")
    }

    @Test func `each token is replaced before it ends, and the clock looked at often`() throws {
        let keeper = try keeper()
        _ = try keeper.start()
        let (failure, waits) = keep(keeper, for: 250)
        #expect(failure == nil)
        #expect(waits.max() == 30)
        #expect(scene.machine.provider.refreshes.count == 2)
        #expect(console.notices.isEmpty)
    }

    @Test func `trouble is told once and tried again less and less often, till it is over`() throws {
        let keeper = try keeper()
        _ = try keeper.start()
        let provider = scene.machine.provider
        provider.fail(with: CredentialError(.temporary, "no reply came"))
        scene.machine.clock.pass(3_600)
        let (failure, waits) = keep(keeper, for: 12) { turn in
            if turn == 8 { provider.fail(with: nil) }
        }
        #expect(failure == nil)
        #expect(Array(waits.prefix(7)) == [1, 2, 4, 8, 16, 30, 30])
        #expect(console.notices.components(of: "no reply came") == 1)
        #expect(provider.refreshes.count == 8)
    }

    @Test func `a token's file is gone at the token's end while the provider is down, and back with the next`()
        throws
    {
        let keeper = try keeper(isWithdrawn: true)
        _ = try keeper.start()
        let provider = scene.machine.provider, seen = Mutex<[Int64: Bool]>([:])
        let ends = scene.machine.clock.now.adding(3_600)
        provider.fail(with: CredentialError(.temporary, "no reply came"))
        scene.machine.clock.pass(3_530)
        let (failure, _) = keep(keeper, for: 20) { turn in
            let after = self.scene.machine.clock.now.seconds(since: ends)
            seen.withLock { $0[after] = self.content(keeper) != nil }
            if turn == 15 { provider.fail(with: nil) }
        }
        #expect(failure == nil)
        let looks = seen.withLock { $0 }
        // One look is at the very end, and the file goes right behind it.
        #expect(looks[0] == true, "\(looks)")
        let between = looks.filter { $0.key > 0 }.sorted { $0.key < $1.key }.map(\.value)
        #expect(between.first == false && between.last == true, "\(looks)")
        #expect(content(keeper)?.hasPrefix("access-ada-") == true)
        #expect(console.notices.components(of: "credmgr removed the file until it gets a new token") == 1)
    }

    @Test func `an ID token is renewed before its own end, however long the access token lives`() throws {
        scene.machine.provider.giveIDTokens(lasting: 8)
        var query = TokenQuery()
        query.wantsIDToken = true
        let keeper = try keeper(query)
        _ = try keeper.start()
        let ends = Mutex<[Int64]>([])
        _ = keep(keeper, for: 40) { _ in
            guard let token = self.content(keeper)?.split(separator: "\n").first,
                let facts = try? StoredIDToken(Secret(String(token)))
            else { return }
            ends.withLock { $0.append(facts.expiresAt.seconds(since: self.scene.machine.clock.now)) }
        }
        // The clock of the test counts whole seconds, and that of a machine is up to one ahead of them.
        #expect(ends.withLock { $0.count } >= 39 && ends.withLock { $0.min() } ?? 0 >= 2, "\(ends.withLock { $0 })")
        #expect(scene.machine.provider.refreshes.count > 3)
    }

    @Test func `an ID token close to its expiry is not returned, and a valid one is returned if no refresh helps`()
        throws
    {
        scene.machine.provider.giveIDTokens(lasting: 100)
        _ = try keeper()
        func token(_ words: String...) -> CommandScene.Outcome {
            scene.run(["token", "--type", "Tasks", "--id-token"] + words)
        }
        let first = token().output
        scene.machine.clock.pass(81)
        #expect(token().output != first)
        #expect(scene.machine.provider.refreshes.count == 1)
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        scene.machine.clock.pass(81)
        let old = token()
        #expect(old.status == 0 && old.notices.contains("this ID token expires in 19 s; the refresh failed"))
        #expect(token("--min-valid", "60").status == 6)
        scene.machine.clock.pass(19)
        #expect(token().status == 6)
    }

    @Test func `a sign-in that is lost ends it, and says why`() throws {
        let keeper = try keeper()
        _ = try keeper.start()
        scene.machine.provider.end("ada")
        scene.machine.clock.pass(3_600)
        let (failure, _) = keep(keeper, for: 100)
        #expect(failure?.code == .signInRequired)
        #expect(scene.machine.provider.refreshes.count == 1)
        #expect(content(keeper) == "access-ada-1\n")
    }

    @Test
    func `a failure with the first token is reported, and a sign-in lost during its validity ends the keeper`()
        throws
    {
        let keeper = try keeper()
        scene.machine.provider.end("ada")
        scene.machine.clock.pass(3_580)
        #expect(try keeper.start(isForEnvironment: true) == "access-ada-1")
        let said = console.notices
        #expect(said.contains("this token ends in 20 s; it could not be refreshed"))
        #expect(said.contains("hint: credmgr login "))
        #expect(said.components(separatedBy: "could not be refreshed").count == 2)
        #expect(keep(keeper, for: 100).failure?.code == .signInRequired)
        #expect(content(keeper) == "access-ada-1\n")
    }

    @Test func `an expired token is replaced at once, and the refresh is repeated after a moment`() throws {
        let keeper = try keeper()
        scene.machine.clock.pass(3_600)
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        let (failure, waits) = keep(keeper, for: 5) { turn in
            if turn == 3 { self.scene.machine.provider.fail(with: nil) }
        }
        #expect(failure == nil)
        #expect(Array(waits.prefix(3)) == [0, 1, 2] && waits[3] > 2)
        #expect(scene.machine.provider.refreshes.count == 3)
    }

    @Test func `once it has ended no token is written any more`() throws {
        let keeper = try keeper()
        _ = try keeper.start()
        try keeper.end()
        #expect(keeper.keep() == nil)
        #expect(content(keeper) == nil)
        #expect(scene.programs.removed == [keeper.path])
    }

    // MARK: Stops and meetings

    /// A user whose first token has ended.
    private static func ended() -> CommandScene {
        let scene = CommandScene(cryptography: LibCryptography())
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        scene.machine.clock.pass(3_600)
        return scene
    }

    /// Puts the first token into a file.
    private static func start(_ scene: CommandScene, _ trace: PortTrace) throws {
        let session = try scene.session(trace: trace)
        let keeper = TokenFileRefresher(
            session, TokenQuery(), try TargetResolver(session).target(TargetOptions(type: "Tasks")),
            file: try scene.programs.runtimeFile("token-", suffix: ""), endsLine: true)
        let token = try keeper.start()
        #expect(token == "access-ada-2")
        #expect(scene.machine.file(keeper.path) == token + "\n")
        try keeper.end()
    }

    @Test func `one that is stopped anywhere costs no sign-in and no second refresh`() throws {
        try PortWalk.ending({ Self.ended() }, Self.start) { scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            #expect(scene.run("token", "--type", "Tasks").output == "access-ada-2\n", "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
        }
    }

    @Test func `with another that it meets anywhere it shares the token of one refresh`() throws {
        try PortWalk.meeting(
            { Self.ended() }, Self.start,
            peer: { scene in try scene.takeToken() }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            #expect(!scene.machine.hasLocks, "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
        }
    }

    private final class Waits: Sendable {
        private let seconds = Mutex<[Int]>([])
        var all: [Int] { seconds.withLock { $0 } }

        /// Adds one; gives how many there are.
        func add(_ wait: Int) -> Int {
            seconds.withLock {
                $0.append(wait)
                return $0.count
            }
        }
    }
}

extension String {
    /// How often it contains a part.
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
