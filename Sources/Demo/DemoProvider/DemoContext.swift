import CredentialCore
import LoopbackHTTP
import StrictJSON
import Synchronization

/// The context that the endpoints share.
final class DemoContext: Sendable {
    /// The configuration of the provider.
    let configuration: DemoConfiguration
    /// The signing keys; at least one.
    let keys: [DemoSigningKey]
    /// Signs and verifies.
    let cryptography: any Cryptography
    /// The time of tokens.
    let clock: any WallClock
    /// The source of codes and ids.
    let random: any RandomSource
    /// Everything that changes. No endpoint keeps it locked while it signs.
    let state: Mutex<DemoState>

    /// Puts the parts together.
    init(
        configuration: DemoConfiguration, keys: [DemoSigningKey], cryptography: any Cryptography,
        clock: any WallClock, random: any RandomSource
    ) {
        self.configuration = configuration
        self.keys = keys
        self.cryptography = cryptography
        self.clock = clock
        self.random = random
        state = Mutex(DemoState(switches: configuration.switches, users: configuration.users))
    }

    /// The time now.
    var now: Timestamp { clock.now }
    /// The switches as they are now.
    var switches: DemoSwitches { state.withLock { $0.switches } }

    /// Adds one to a counter.
    func count(_ counter: WritableKeyPath<DemoCounters, Int64>) {
        state.withLock { $0.counters[keyPath: counter] += 1 }
    }

    /// The client with an application id.
    func client(_ id: String) -> DemoClient? { configuration.clients.first { $0.id == id } }

    /// The policy with a name, in any case.
    func policy(_ name: String) -> DemoPolicy? {
        configuration.policies.first { $0.name.lowercased() == name.lowercased() }
    }

    /// A random GUID (RFC 9562 §5.4).
    func guid() -> String {
        var bytes = random.bytes(16)
        guard bytes.count == 16 else { return "00000000-0000-4000-8000-000000000000" }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return text
    }

    /// The correlation id of a request: the caller's own if it sent a sensible one.
    func correlationID(_ request: ServerRequest) -> String {
        let isSensible = { (byte: UInt8) in byte == UInt8(ascii: "-") || Character(Unicode.Scalar(byte)).isHexDigit
        }
        if let sent = request.value(of: "client-request-id"), sent.utf8.count == 36,
            sent.utf8.allSatisfy(isSensible)
        {
            return sent
        }
        return guid()
    }

    /// The issuer of a policy's tokens when the provider is called `host` (with the port).
    func issuer(host: String, policy: DemoPolicy, switches: DemoSwitches) -> String {
        let slash = switches.issuerEndsWithSlash ? "/" : ""
        return switch switches.issuerForm {
        case .guid: "http://\(host)/\(configuration.tenantID)/v2.0\(slash)"
        case .tfp: "http://\(host)/tfp/\(configuration.tenantID)/\(policy.name.lowercased())/v2.0\(slash)"
        case .custom(let text): text
        }
    }

    /// The key that signs now.
    func signingKey(_ switches: DemoSwitches) -> DemoSigningKey {
        keys[min(max(0, Int(clamping: switches.signingKey)), keys.count - 1)]
    }

    /// The keys of the key set now.
    func publishedKeys(_ switches: DemoSwitches) -> [DemoSigningKey] {
        Array(keys.prefix(max(0, Int(clamping: switches.signingKey.addingReportingOverflow(1).partialValue))))
    }
}
