import Foundation
import SecretServiceStore
import TestSupport
import Testing

@Suite struct SecretServiceSessionBusTests {
    @Test func `the address given counts, but a bus is never started`() {
        let address = { SessionBus.address(environment: ["DBUS_SESSION_BUS_ADDRESS": $0]) }
        #expect(address("unix:path=/a") == "unix:path=/a")
        #expect(address("autolaunch:;unix:path=/a") == "unix:path=/a")
        #expect(address("unix:path=/a;unix:path=/b") == "unix:path=/a;unix:path=/b")
        #expect(address("autolaunch:scope=x")?.hasPrefix("autolaunch") != true)
    }

    @Test(.needs(.keyring))
    func `without an address the socket in the runtime folder counts`() throws {
        let keyring = try PrivateKeyring(.nobody)
        defer { keyring.stop() }
        let folder = try #require(keyring.environment["XDG_RUNTIME_DIR"])
        #expect(SessionBus.address(environment: ["XDG_RUNTIME_DIR": folder]) == "unix:path=\(folder)/bus")
    }

    @Test func `a file that is no socket does not count`() throws {
        let folder = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: folder.path + "/bus"))
        let address = SessionBus.address(environment: ["XDG_RUNTIME_DIR": folder.path])
        #expect(address == nil)
    }

    @Test func `another runtime folder than logind's means its bus or none`() throws {
        let folder = try TemporaryFolder()
        #expect(SessionBus.address(environment: ["XDG_RUNTIME_DIR": folder.path]) == nil)
        #expect(SessionBus.address(environment: ["XDG_RUNTIME_DIR": ""]) == SessionBus.address(environment: [:]))
    }

    @Test func `an address says unusual bytes in hexadecimal`() throws {
        let folder = try TemporaryFolder()
        let odd = folder.path + "/a b;ü"
        try FileManager.default.createDirectory(atPath: odd, withIntermediateDirectories: true)
        let listener = try UnixListener(path: odd + "/bus")
        #expect(
            SessionBus.address(environment: ["XDG_RUNTIME_DIR": odd])
                == "unix:path=\(folder.path)/a%20b%3b%c3%bc/bus")
        listener.close()
    }
}

/// A socket that accepts connections in the kernel and never says anything.
struct UnixListener {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
        }
        try #require(status == 0)
        try #require(listen(descriptor, 8) == 0)
    }

    func close() { _ = Glibc.close(descriptor) }
}
