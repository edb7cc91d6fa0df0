/// The clock on the wall.
public protocol WallClock: Sendable {
    /// The time now.
    var now: Timestamp { get }
}

/// A clock that goes on while the machine sleeps, and never goes back if the system time is set: it measures waits
/// and leases.
package protocol BootClock: Sendable {
    /// Milliseconds since the machine was started.
    var milliseconds: Int64 { get }
}

/// A source of unpredictable bytes.
public protocol RandomSource: Sendable {
    /// `count` bytes from the kernel's generator.
    func bytes(_ count: Int) -> [UInt8]
}

extension RandomSource {
    /// 256 unpredictable bits as text for `state`, `nonce` and `code_verifier`.
    public func urlSafeToken() -> String { Base64URL.encode(bytes(32)) }

    /// A new account id.
    public func accountID() -> String {
        bytes(8).map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
