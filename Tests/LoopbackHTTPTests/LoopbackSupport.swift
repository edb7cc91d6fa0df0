import CredentialCore
import DemoProvider
import Foundation
import LoopbackHTTP
import Synchronization

/// A socket that is connected to localhost and sends the test's words, when the test wants.
final class RawConnection {
    private let descriptor: Int32

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw CredentialError(.temporary, "no connection") }
    }

    func send(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// The bytes that come until the server ends the connection.
    func readToEnd() -> String {
        var collected: [UInt8] = [], buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
            collected += buffer[..<count]
        }
        return String(decoding: collected, as: UTF8.self)
    }

    deinit { close(descriptor) }
}
