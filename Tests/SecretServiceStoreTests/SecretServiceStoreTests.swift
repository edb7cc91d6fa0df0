import CredentialCore
import Foundation
import SecretServiceStore
import TestSupport
import Testing

/// The store on a real gnome-keyring. A process has one session bus, so that each test runs in one of its own.
@Suite(.needs(.keyring))
struct SecretServiceStoreTests {
    @Test func `a secret comes back as it was stored`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            #expect(try store.read(.example("a")) == nil)
            let large = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            for secret in [[UInt8]("{\"token\":\"ü\"}".utf8), [0, 255, 0], large] {
                try store.write(secret, for: .example("a"), label: "credmgr: Example жук/日本")
                #expect(try store.read(.example("a")) == secret)
                #expect(try keyring.store().read(.example("a")) == secret)
            }
            #expect(try store.read(.example("b")) == nil)
        }
    }

    @Test func `an item is created once and then changed in place`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            for round in 1...3 {
                try store.write([UInt8("\(round)".utf8.first ?? 0)], for: .example("a"), label: "credmgr: E/x u")
            }
            let found = try keyring.secretTool(["search", "--all", "account", "a"])
            #expect(found.components(separatedBy: "label = ").count == 2)
            #expect(found.contains("label = credmgr: E x u\n"))
            #expect(found.contains("secret = 3\n"))
            #expect(found.contains("schema = org.credmgr.TokenSet"))
            #expect(found.components(separatedBy: "attribute.").count == 4)
        }
    }

    @Test func `removing removes this item only, also when there is none`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            try store.remove(.example("a"))
            for owner in ["a", "b"] { try store.write([1], for: .example(owner), label: "credmgr: \(owner)") }
            try store.remove(.example("a"))
            #expect(try store.read(.example("a")) == nil)
            #expect(try store.read(.example("b")) == [1])
        }
    }

    @Test func `items are listed by group and kind`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            let other = SecretItem(group: try KeychainGroup("other"), owner: "c", kind: .tokenSet)
            let client = SecretItem(group: .standard, owner: "Type", kind: .clientSecret)
            for item in [SecretItem.example("b"), .example("a"), other, client] {
                try store.write([1], for: item, label: "credmgr: x")
            }
            #expect(try store.items(of: .standard, kind: .tokenSet) == [.example("a"), .example("b")])
            #expect(try store.items(of: .standard, kind: .clientSecret) == [client])
            #expect(try store.items(of: other.group, kind: .privateKey) == [])
        }
    }

    @Test func `all secrets of a group are given, each once, however many there are`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let warnings = Warnings()
            let store = keyring.store { warnings.add($0) }
            let other = SecretItem(group: try KeychainGroup("other"), owner: "c", kind: .tokenSet)
            try store.write([9], for: other, label: "credmgr: x")
            var given: [SecretItem: [UInt8]] = [:]
            try store.eachSecret(of: .standard, kind: .tokenSet) { given[$0] = $1 }
            #expect(given.isEmpty)
            var expected: [SecretItem: [UInt8]] = [:]
            for number in 0..<70 {
                let secret = [UInt8]("secret \(number)".utf8)
                expected[.example("a\(number)")] = secret
                try store.write(secret, for: .example("a\(number)"), label: "credmgr: x")
            }
            // The keyring counts whole seconds: a newer item needs a later one.
            let written = time(nil), end = ContinuousClock.now + .seconds(10)
            while time(nil) <= written {
                try #require(ContinuousClock.now < end, "waited 10 s for the next second of the clock")
                usleep(10_000)
            }
            // A second item for one of them, and one without a secret: the newest counts, the empty one is damaged.
            for (owner, input) in [("a7", "newer"), ("empty", "")] {
                _ = try keyring.secretTool(
                    [
                        "store", "--label", "foreign", "xdg:schema", "org.credmgr.TokenSet", "group", "default",
                        "kind", "token-set", "account", owner, "more", "1",
                    ], input: input)
            }
            expected[.example("a7")] = [UInt8]("newer".utf8)
            var owners: [String] = []
            var damaged: [SecretItem] = []
            try store.eachSecret(of: .standard, kind: .tokenSet) { item, secret in
                owners.append(item.owner)
                given[item] = secret
                if secret == nil { damaged.append(item) }
            }
            #expect(given == expected)
            #expect(owners == owners.sorted() && owners.count == 71)
            #expect(damaged == [.example("empty")])
            #expect(warnings.all.count == 1)
            #expect(try store.items(of: .standard, kind: .tokenSet).map(\.owner) == owners)
        }
    }

    @Test func `of several items for one account the one changed last counts, with a warning`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let warnings = Warnings()
            let store = keyring.store { warnings.add($0) }
            try store.write([UInt8]("ours".utf8), for: .example("a"), label: "credmgr: x")
            #expect(warnings.all.isEmpty)
            // The attribute that is not ours makes it another item to the keyring and the same to our search.
            _ = try keyring.secretTool(
                [
                    "store", "--label=copy", "xdg:schema", "org.credmgr.TokenSet", "group", "default", "kind",
                    "token-set", "account", "a", "more", "x",
                ], input: "copy")
            try store.write([UInt8]("newest".utf8), for: .example("a"), label: "credmgr: x")
            #expect(try store.read(.example("a")) == [UInt8]("newest".utf8))
            #expect(warnings.all.allSatisfy { $0.contains("2 items") } && !warnings.all.isEmpty)
            try store.remove(.example("a"))
            #expect(try store.read(.example("a")) == nil)
        }
    }

    @Test func `an empty secret is damage, not absence`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            try store.write([1], for: .example("a"), label: "credmgr: x")
            _ = try keyring.secretTool(
                [
                    "store", "--label=x", "xdg:schema", "org.credmgr.TokenSet", "group", "default", "kind",
                    "token-set", "account", "a",
                ], input: "")
            #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeDamaged)
        }
    }

    @Test func `a locked keyring is locked, never empty`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            try store.write([1], for: .example("a"), label: "credmgr: x")
            try keyring.lock()
            for store in [store, keyring.store()] {
                for owner in ["a", "never stored"] {
                    let calls: [() throws -> Void] = [
                        { _ = try store.read(.example(owner)) },
                        { try store.write([2], for: .example(owner), label: "credmgr: x") },
                        { try store.remove(.example(owner)) },
                        { _ = try store.items(of: .standard, kind: .tokenSet) },
                        { try store.probe() },
                    ]
                    for call in calls {
                        let error = refusal(of: call)
                        #expect(error?.code == .storeLocked)
                        #expect(error?.hint?.contains("unlock") == true)
                    }
                }
            }
            #expect(try store.describe().isLocked)
            try keyring.unlock()
            #expect(try store.read(.example("a")) == [1])
            #expect(try store.read(.example("never stored")) == nil)
            #expect(try !store.describe().isLocked)
        }
    }

    @Test func `a restart of the keyring between two calls goes unnoticed`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            try store.write([1], for: .example("a"), label: "credmgr: x")
            for round in UInt8(2)...4 {
                try keyring.restartService()
                try store.write([round], for: .example("a"), label: "credmgr: x")
                try keyring.restartService()
                #expect(try store.read(.example("a")) == [round])
            }
            #expect(UInt64(keyring.serviceProcess) == (try store.describe().process))
        }
    }

    @Test func `without a default collection the store is not available`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring(.gnomeKeyringWithoutCollection)
            defer { keyring.stop() }
            let store = keyring.store()
            let calls: [() throws -> Void] = [
                { try store.probe() },
                { _ = try store.read(.example("a")) },
                { try store.write([1], for: .example("a"), label: "credmgr: x") },
                { try store.remove(.example("a")) },
            ]
            for call in calls {
                let error = refusal(of: call)
                #expect(error?.code == .storeUnavailable)
                #expect(error?.message.contains("no default keyring") == true)
            }
        }
    }

    @Test func `writers of different items do not disturb each other`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in UInt8(1)...20 {
                    group.addTask {
                        try store.write([number], for: .example("account\(number)"), label: "credmgr: x")
                    }
                }
                try await group.waitForAll()
            }
            for number in UInt8(1)...20 { #expect(try store.read(.example("account\(number)")) == [number]) }
            #expect(try store.items(of: .standard, kind: .tokenSet).count == 20)
        }
    }
}

/// The same store on a keyring that is another program altogether.
@Suite(.needs(.keePassXC))
struct SecretServiceKeePassXCTests {
    @Test func `items are created, changed in place by another process, listed and removed`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring(.keePassXC)
            defer { keyring.stop() }
            let store = keyring.store()
            try store.probe()
            #expect(try store.read(.example("a")) == nil)
            let bytes = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try store.write(bytes, for: .example("a"), label: "credmgr: Example жук/日本")
            #expect(try store.read(.example("a")) == bytes)
            // Another connection is another client to KeePassXC.
            try keyring.store().write([2], for: .example("a"), label: "credmgr: Example")
            #expect(try store.read(.example("a")) == [2])
            try store.write([3], for: .example("b"), label: "credmgr: Example")
            #expect(try store.items(of: .standard, kind: .tokenSet) == [.example("a"), .example("b")])
            var given: [SecretItem: [UInt8]] = [:]
            try store.eachSecret(of: .standard, kind: .tokenSet) { given[$0] = $1 }
            #expect(given == [.example("a"): [2], .example("b"): [3]])
            try store.remove(.example("a"))
            #expect(try store.read(.example("a")) == nil)
            #expect(try store.read(.example("b")) == [3])
        }
    }

    @Test func `a locked database is never empty`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring(.keePassXC)
            defer { keyring.stop() }
            let store = keyring.store()
            try store.write([1], for: .example("a"), label: "credmgr: Example")
            try keyring.lock()
            for store in [store, keyring.store()] {
                #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeLocked)
                #expect(refusal { try store.remove(.example("a")) }?.code == .storeLocked)
            }
        }
    }
}

/// And on KWallet, whose collection is locked until a program has asked for it, even when its wallet is open.
@Suite(.needs(.kWallet))
struct SecretServiceKWalletTests {
    @Test func `items are created, changed in place by another process, listed and removed`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring(.kWallet)
            defer { keyring.stop() }
            #expect(refusal { _ = try keyring.store().read(.example("a")) }?.code == .storeLocked)
            // The question to unlock answers itself, as the login has opened the wallet.
            let store = keyring.store(canPrompt: true)
            #expect(try store.read(.example("a")) == nil)
            let bytes = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try store.write(bytes, for: .example("a"), label: "credmgr: Example жук/日本")
            #expect(try store.read(.example("a")) == bytes)
            let other = keyring.store()
            try other.write([2], for: .example("a"), label: "credmgr: Example")
            #expect(try store.read(.example("a")) == [2])
            try store.write([3], for: .example("b"), label: "credmgr: Example")
            #expect(try store.items(of: .standard, kind: .tokenSet) == [.example("a"), .example("b")])
            var given: [SecretItem: [UInt8]] = [:]
            try store.eachSecret(of: .standard, kind: .tokenSet) { given[$0] = $1 }
            #expect(given == [.example("a"): [2], .example("b"): [3]])
            try store.remove(.example("a"))
            #expect(try store.read(.example("a")) == nil)
            #expect(try store.read(.example("b")) == [3])
        }
    }
}
