import CredentialCore
import StrictJSON

/// The first line of a relay's connection, with the secret of its run: `{"op":"via","v":1,"secret":"S"}`.
struct ViaLine: Sendable {
    /// The secret that the relay gave to its programs.
    let secret: Secret

    /// The most that the line has, in bytes. A secret of 128 bits needs far less.
    static let limit = 1 << 10

    /// Reads the line without its newline.
    ///
    /// - Throws: `malformed` or `version`.
    init(_ line: some Collection<UInt8>) throws(BrokerFailure) {
        let value = try? JSONValue.parse(Array(line), limits: JSONLimits(bytes: Self.limit, depth: 2, nodes: 8))
        guard let members = value?.object, members["op"]?.string == "via",
            members.keys.allSatisfy({ ["op", "v", "secret"].contains($0) })
        else { throw BrokerFailure(.malformed) }
        guard members["v"] == .integer(1) else {
            throw BrokerFailure(members["v"]?.integer == nil ? .malformed : .version)
        }
        guard let secret = members["secret"]?.string, !secret.isEmpty else { throw BrokerFailure(.malformed) }
        self.secret = Secret(secret)
    }
}
