import CredentialCore
import Foundation
import SecretServiceStore
import TestSupport
import Testing

/// Buses and keyrings that are missing, silent or dying.
@Suite(.needs(.keyring))
struct SecretServiceTroubleTests {
    // The upper bounds leave room for a busy machine; GIO's own is 25 seconds.

    @Test func `no bus is not available, at once`() throws {
        let store = SecretServiceStore(busAddress: nil, canPrompt: true) { _ in }
        #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeUnavailable)
        #expect(refusal { try store.probe() }?.message.contains("no session bus") == true)
    }

    @Test func `a dead socket is not available, at once`() async {
        await #expect(processExitsWith: .success) {
            let store = SecretServiceStore(busAddress: "unix:path=/nonexistent/bus", canPrompt: true) { _ in }
            let time = seconds {
                let error = refusal { _ = try store.read(.example("a")) }
                #expect(error?.code == .storeUnavailable)
                #expect(error?.message.contains("session bus") == true)
            }
            #expect(time < 1)
        }
    }

    @Test func `a bus without a keyring is not available, at once`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring(.nobody)
            defer { keyring.stop() }
            let store = keyring.store()
            let time = seconds {
                #expect(refusal { try store.probe() }?.message.contains("no program provides") == true)
                #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeUnavailable)
            }
            #expect(time < 1)
        }
    }

    @Test func `a keyring that does not answer is given up after 3 seconds, and used again when it does`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            try store.write([1], for: .example("a"), label: "credmgr: x")
            keyring.pauseService()
            for store in [store, keyring.store()] {
                let time = seconds {
                    #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeUnavailable)
                }
                #expect(time > 2 && time < 8)
            }
            let time = seconds {
                let error = refusal { try store.write([2], for: .example("a"), label: "credmgr: x") }
                #expect(error?.code == .storeUnavailable)
            }
            #expect(time > 4 && time < 12)
            keyring.resumeService()
            #expect(try store.read(.example("a")) == [1])
        }
    }

    @Test func `a session that was begun before it is needed serves, and is given up in the same time`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            store.begin()
            try store.write([1], for: .example("a"), label: "credmgr: x")
            #expect(try store.read(.example("a")) == [1])
            keyring.pauseService()
            let late = keyring.store()
            late.begin()
            late.begin()
            let time = seconds {
                #expect(refusal { _ = try late.read(.example("a")) }?.code == .storeUnavailable)
            }
            #expect(time > 2 && time < 8)
            keyring.resumeService()
            #expect(try late.read(.example("a")) == [1])
            // No program asks for it after all.
            keyring.store().begin()
        }
    }

    @Test func `the failure of an early start without a keyring is reported on first use`() async {
        let without = SecretServiceStore(busAddress: nil, canPrompt: true) { _ in }
        without.begin()
        #expect(refusal { _ = try without.read(.example("a")) }?.code == .storeUnavailable)
        await #expect(processExitsWith: .success) {
            let dead = SecretServiceStore(busAddress: "unix:path=/nonexistent/bus", canPrompt: true) { _ in }
            dead.begin()
            let time = seconds {
                #expect(refusal { _ = try dead.read(.example("a")) }?.code == .storeUnavailable)
            }
            #expect(time < 1)
        }
    }

    @Test func `a bus that accepts and says nothing is given up after 3 seconds, and then not asked again`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let listener = try UnixListener(path: folder.path + "/bus")
            let address = "unix:path=\(folder.path)/bus"
            let store = SecretServiceStore(busAddress: address, canPrompt: true) { _ in }
            let first = seconds { #expect(refusal { try store.probe() }?.code == .storeUnavailable) }
            #expect(first > 2 && first < 8)
            let second = seconds {
                #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeUnavailable)
            }
            #expect(second < 1)
            listener.close()
        }
    }

    @Test func `a bus that dies is not available`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            try store.write([1], for: .example("a"), label: "credmgr: x")
            keyring.stopBus()
            let time = seconds {
                #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeUnavailable)
                #expect(refusal { try store.probe() }?.code == .storeUnavailable)
            }
            #expect(time < 2)
        }
    }

    @Test func `a connection that breaks is made anew`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let store = keyring.store()
            for byte in UInt8(1)...5 {
                try store.write([byte], for: .example("a"), label: "credmgr: x")
                try #require(breakBusConnections() > 0)
                #expect(try store.read(.example("a")) == [byte])
            }
        }
    }

    @Test func `messages of GLib do not reach standard error`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let keyring = try PrivateKeyring(.nobody)
            defer { keyring.stop() }
            // Not a name on any bus: GIO's functions refuse it as a mistake of their caller.
            setenv("SECRET_SERVICE_BUS_NAME", "no name", 1)
            #expect(refusal { try keyring.store().probe() }?.code == .storeUnavailable)
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(!errors.contains("CRITICAL"))
    }
}

/// Breaks this process's connections to a bus, and counts them.
private func breakBusConnections() -> Int {
    (Int32(3)..<256).count { descriptor in
        var address = sockaddr_un()
        var size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
        }
        let path = withUnsafeBytes(of: &address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard status == 0, address.sun_family == sa_family_t(AF_UNIX), path.hasSuffix("/bus") else { return false }
        return shutdown(descriptor, Int32(SHUT_RDWR)) == 0
    }
}

/// A keyring that breaks the rules, in ways that real ones were seen to.
@Suite(.needs(.scriptedKeyring))
struct UnrulySecretServiceTests {
    @Test func `a key that the service refuses is made anew, twice`() async {
        await #expect(processExitsWith: .success) {
            let patient = try UnrulyService("--refuse-sessions", "2")
            defer { patient.stop() }
            #expect(try patient.store().read(.example("a")) == nil)
            #expect(patient.calls.filter { $0 == "OpenSession" }.count == 3)
        }
        await #expect(processExitsWith: .success) {
            let stubborn = try UnrulyService("--refuse-sessions", "3")
            defer { stubborn.stop() }
            let error = refusal { _ = try stubborn.store().read(.example("a")) }
            #expect(error?.code == .storeUnavailable)
            #expect(error?.message.contains("public key size is invalid") == true)
        }
    }

    @Test func `a service without encryption is refused`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService("--plain")
            defer { service.stop() }
            let error = refusal { try service.store().probe() }
            #expect(error?.code == .storeUnavailable)
            #expect(error?.message.contains("no encrypted session") == true)
        }
    }

    @Test func `libsecret that waits for ever is left behind after 3 seconds, and then not asked again`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService("--hang-in", "OpenSession")
            defer { service.stop() }
            let store = service.store()
            let first = seconds {
                #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeUnavailable)
            }
            #expect(first > 2 && first < 8)
            let second = seconds { #expect(refusal { try store.probe() }?.code == .storeUnavailable) }
            #expect(second < 1)
        }
    }

    @Test func `a store that was acknowledged and did not happen is an error`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService()
            defer { service.stop() }
            let store = service.store()
            let error = refusal { try store.write([1], for: .example("a"), label: "credmgr: x") }
            #expect(error?.code == .storeUnavailable)
            #expect(error?.message.contains("does not return the secret") == true)
        }
    }

    @Test func `without a person no question to unlock is asked`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService("--locked")
            defer { service.stop() }
            #expect(refusal { _ = try service.store().read(.example("a")) }?.code == .storeLocked)
            #expect(service.calls.contains("Unlock"))
            #expect(!service.calls.contains("Prompt"))
        }
    }

    @Test(arguments: ["--locked", "--prompt-to-create"])
    func `a question that the person dismisses is a cancellation`(option: String) async {
        await #expect(processExitsWith: .success) { [option] in
            let service = try UnrulyService(option, "--on-prompt", "dismiss")
            defer { service.stop() }
            let store = service.store(canPrompt: true)
            let error = refusal { try store.write([1], for: .example("a"), label: "credmgr: x") }
            #expect(error?.code == .cancelled)
            #expect(service.calls.contains("Prompt"))
        }
    }

    @Test func `a keyring that the person unlocks is read`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService("--locked", "--on-prompt", "unlock")
            defer { service.stop() }
            #expect(try service.store(canPrompt: true).read(.example("a")) == nil)
            #expect(service.calls.filter { $0 == "Prompt" }.count == 1)
        }
    }

    @Test func `a keyring that stays locked after its question was answered is locked`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService("--locked")
            defer { service.stop() }
            let store = service.store(canPrompt: true)
            #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeLocked)
        }
    }

    @Test func `a keyring that dies while it asks is not waited for`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService("--locked", "--on-prompt", "die")
            defer { service.stop() }
            let store = service.store(canPrompt: true)
            let time = seconds {
                #expect(refusal { _ = try store.read(.example("a")) }?.code == .storeUnavailable)
            }
            #expect(time < 2)
        }
    }

    @Test func `a prompt that no user answers is withdrawn within 5 seconds`() async {
        await #expect(processExitsWith: .success) {
            let service = try UnrulyService("--prompt-to-create", "--on-prompt", "wait")
            defer { service.stop() }
            let store = service.store()
            let time = seconds {
                let error = refusal { try store.write([1], for: .example("a"), label: "credmgr: x") }
                #expect(error?.code == .storeLocked)
            }
            #expect(time > 4 && time < 12)
            #expect(service.calls.last == "Dismiss")
            // The probe left no item behind: the store can go on.
            try store.probe()
        }
    }
}
