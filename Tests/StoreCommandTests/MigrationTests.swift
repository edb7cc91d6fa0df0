import CredentialCore
import EncryptedFileStore
import Foundation
import SecretServiceStore
import StrictJSON
import TestSupport
import Testing

/// Moving between the encrypted file and a real gnome-keyring. A process has one session bus, so each test runs in
/// a process of its own.
@Suite(.needs(.keyring))
struct MigrationTests {
    @Test func `accounts and client secrets move there and back, and a rehearsal moves nothing`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring), file = scene.file
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            let ids = ["00000000000000a1", "00000000000000b2", "00000000000000c3"]
            try scene.signIn(ids, in: file)
            let secret = SecretItem(group: scene.group, owner: "Tasks", kind: .clientSecret)
            try file.write([9, 9], for: secret, label: "x")

            let rehearsal = try scene.run(["store", "migrate", "--to", "secret-service", "--dry-run"])
            #expect(rehearsal.exitStatus == 0)
            #expect(rehearsal.standardOutput.components(separatedBy: "would move").count == 5)
            let words = ["store", "migrate", "--to", "secret-service", "--json"]
            let rows = try JSONValue.parse(try scene.run(words + ["--dry-run"]).standardOutput).array
            #expect(rows?.compactMap { $0.object?["account"]?.string }.sorted() == ids)
            #expect(rows?.last?.object?["owner"] == "Tasks")
            #expect(rows?.count == 4 && rows?.allSatisfy { $0.object?["would_move"] == .bool(true) } == true)
            #expect(try scene.run(words).exitStatus == 2)
            #expect(try scene.holders(file) == ids)
            #expect(try scene.holders(service).isEmpty)

            for (word, target, source) in [
                ("secret-service", service as any SecretStore, file as any SecretStore), ("file", file, service),
            ] {
                let outcome = try scene.run(["store", "migrate", "--to", word])
                #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
                #expect(outcome.standardOutput.components(separatedBy: "moved").count == 5)
                #expect(try scene.holders(target) == ids)
                #expect(try scene.holders(source).isEmpty)
                #expect(try target.read(secret) == [9, 9])
                #expect(try source.read(secret) == nil)
                let accounts = try scene.accounts().accounts
                #expect(accounts.allSatisfy { $0.store == target.kind && $0.staleKeyringCopy == nil })
                #expect(try scene.problems().isEmpty)
                #expect(try scene.run(["store", "migrate", "--to", word]).standardOutput.isEmpty)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a record with another account's facts is not one of its item in the keyring`(isAll: Bool) async {
        await #expect(processExitsWith: .success) { [isAll] in
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring), ids = ["00000000000000a1", "00000000000000b2"]
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            try scene.signIn(ids, in: service)
            for (id, other) in zip(ids, ids.reversed()) {
                try scene.change(id) {
                    if isAll { $0.account.subject = "subject-" + other }
                    $0.account.username = "user-\(other)@example.com"
                }
            }
            let refused = try scene.run(["token", "--account", ids[0]])
            #expect(refused.exitStatus == 5 && refused.standardError.contains("hint: credmgr doctor --fix"))
            #expect(try scene.problems().count == 2)
            #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
            #expect(try scene.accounts()[id: ids[0]]?.username == "user-\(ids[0])@example.com")
        }
    }

    @Test func `records of a newer version in the keyring stay there, and affect no other account`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring)
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            let ids = ["00000000000000a1", "00000000000000b2"]
            try scene.signIn(ids, in: service)
            let item = scene.item(ids[0]), bytes = try #require(try service.read(item))
            let text = String(decoding: bytes, as: UTF8.self)
            let newer = Array(text.replacingOccurrences(of: #""version":1"#, with: #""version":2"#).utf8)
            #expect(newer != bytes)
            try service.write(newer, for: item, label: "credmgr: Tasks")
            for words in [[], ["--fix", "--yes"]] {
                #expect(
                    try scene.problems(words) == [
                        "the secret of \(ids[0]) in the Secret Service cannot be used: a newer credmgr wrote the stored "
                            + "token set (version 2)"
                    ], "\(words)")
            }
            for words in [["token"], ["logout"], ["refresh"]] {
                let refused = try scene.run(words + ["--account", ids[0]])
                #expect(refused.exitStatus == 2, "\(words): \(refused.standardError)")
                #expect(refused.standardError.contains("hint: upgrade credmgr"))
            }
            #expect(try service.read(item) == newer)
            #expect(try scene.tokenSet(ids[1], in: service) != nil)
        }
    }

    @Test func `an account with an unavailable keyring is reported before a request to the provider`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring)
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            try scene.signIn(["00000000000000a1"], in: service)
            keyring.stopService()
            for store in ["auto", "file"] {
                let refused = try scene.run(
                    ["login", "--account", "00000000000000a1", "--print-url"], ["CREDMGR_STORE": store])
                #expect(refused.exitStatus == 5, "\(store): \(refused.standardError)")
            }
        }
    }

    @Test func `a target that is locked or missing moves nothing`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring), file = scene.file
            try scene.signIn(["00000000000000a1"], in: file)
            try keyring.lock()
            #expect(try scene.run(["store", "migrate", "--to", "secret-service"]).exitStatus == 5)
            keyring.stopService()
            #expect(try scene.run(["store", "migrate", "--to", "secret-service"]).exitStatus == 5)
            #expect(try scene.holders(file) == ["00000000000000a1"])
            #expect(try scene.accounts()[id: "00000000000000a1"]?.staleKeyringCopy == nil)
            #expect(try scene.run(["store", "migrate"]).exitStatus == 2)
        }
    }

    /// Forty runs in turn there and back, each killed somewhere.
    @Test func `whenever it is killed, each account has exactly one copy that counts, and the next run ends it`()
        async
    {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring), file = scene.file
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            let ids = (1...6).map { "000000000000000\($0)" }
            try scene.signIn(ids, in: file)
            func store(_ kind: StoreKind) -> any SecretStore { kind == .file ? file : service }

            let start = ContinuousClock.now
            #expect(try scene.run(["store", "migrate", "--to", "secret-service"]).exitStatus == 0)
            // The first run may have been slow; a run that was not killed tells that the later ones are faster.
            var longest = start.duration(to: .now) / .seconds(1)
            var killed = 0, mixed = 0
            for round in 0..<40 {
                let target = round.isMultiple(of: 2) ? StoreKind.file : .secretService
                let migrate = scene.command(["store", "migrate", "--to", target.rawValue])
                if try migrate.run(killedAfter: .random(in: 0...longest)).exitStatus == 137 {
                    killed += 1
                } else {
                    longest *= 0.8
                }
                let accounts = try scene.accounts().accounts
                #expect(accounts.map(\.id) == ids)
                let held = [StoreKind.file: try scene.holders(file), .secretService: try scene.holders(service)]
                for account in accounts {
                    // The copy in use is whole, and every other copy is recorded.
                    #expect(held[account.store]?.contains(account.id) == true)
                    if held[account.store.other]?.contains(account.id) == true {
                        #expect(account.staleKeyringCopy == account.store.other)
                    }
                }
                if Set(accounts.map(\.store)).count > 1 { mixed += 1 }
                let end = try scene.run(["store", "migrate", "--to", target.rawValue])
                #expect(end.exitStatus == 0, "\(end.standardError)")
                #expect(try scene.holders(store(target)) == ids)
                #expect(try scene.holders(store(target.other)).isEmpty)
                #expect(try scene.accounts().accounts.allSatisfy { $0.staleKeyringCopy == nil })
            }
            #expect(killed > 10 && mixed > 0, "\(killed) were killed, \(mixed) in the middle")
        }
    }

    @Test func `signing out removes the copy that an interrupted migration left`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring), file = scene.file, id = "00000000000000a1"
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            try scene.signIn([id], in: file)
            try service.write(try Scene.tokenSet(id, in: .secretService).encoded(), for: scene.item(id), label: "x")
            try scene.change(id) { $0.account.staleKeyringCopy = .secretService }
            #expect(try scene.problems().first?.contains("an unused copy") == true)
            #expect(try scene.run(["logout", "--account", id]).exitStatus == 0)
            #expect(try scene.holders(file).isEmpty)
            #expect(try scene.holders(service).isEmpty)
        }
    }

    @Test func `secrets in the other store than the record says are found by doctor`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring), id = "00000000000000a1"
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            try scene.signIn([id], in: service)
            try scene.change(id) { $0.account.store = .file }
            #expect(try scene.problems().first?.contains("are in the Secret Service") == true)
            #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
            #expect(try scene.accounts()[id: id]?.store == .secretService)
        }
    }
}

/// The same with KeePassXC, which is another program altogether.
@Suite(
    .needs(.keePassXC))
struct KeePassXCMigrationTests {
    @Test func `large token sets of people with other letters move there and back`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring(.keePassXC)
            defer { keyring.stop() }
            let scene = try Scene(keyring), file = scene.file, id = "00000000000000a1"
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            var set = try Scene.tokenSet(id, in: .file)
            set.account.username = "жук/日本@例え.jp"
            set.grants[""]?.idToken = Secret(String(repeating: "x", count: 65_536))
            try scene.define(clientID: "c")
            try scene.put(set, in: file)
            for (word, target, source) in [
                ("secret-service", service as any SecretStore, file as any SecretStore), ("file", file, service),
            ] {
                let outcome = try scene.run(["store", "migrate", "--to", word])
                #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
                let moved = try scene.tokenSet(id, in: target)
                #expect(moved?.grants == set.grants)
                #expect(moved?.account.username == set.account.username)
                #expect(try scene.tokenSet(id, in: source) == nil)
            }
        }
    }
}
