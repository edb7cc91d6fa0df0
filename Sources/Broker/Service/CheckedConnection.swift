package import CredentialCore

/// A connection whose user is checked again before each request and each reply, as `callers` may have been
/// narrowed.
package struct CheckedConnection: BrokerConnection {
    private let connection: any BrokerConnection
    private let service: BrokerService
    private let caller: Caller
    private let own: UInt32

    /// Makes one.
    ///
    /// - Parameter own: the user of the broker.
    package init(_ connection: any BrokerConnection, _ service: BrokerService, caller: Caller, own: UInt32) {
        self.connection = connection
        self.service = service
        self.caller = caller
        self.own = own
    }

    package func read(
        atMost limit: Int, deadlineMilliseconds milliseconds: Int
    ) throws(CredentialError) -> [UInt8] {
        let bytes = try connection.read(atMost: limit, deadlineMilliseconds: milliseconds)
        if !bytes.isEmpty { try check() }
        return bytes
    }

    package func write(_ bytes: [UInt8]) throws(CredentialError) {
        try check()
        try connection.write(bytes)
    }

    private func check() throws(CredentialError) {
        guard service.allows(caller, own: own) else {
            throw CredentialError(.inputOutput, "the broker's callers do not include this user any more")
        }
    }
}

extension BrokerService {
    /// Whether the file, as it is now, admits the user of a caller. A refusal is a line of the log.
    ///
    /// - Parameter own: the user of the broker.
    package func allows(_ caller: Caller, own: UInt32) -> Bool {
        readAgain()
        if configuration.callers.contains(where: { $0.includes(caller.uid, own: own) }) { return true }
        _ = refused(.denied(.caller), nil, nil, nil, caller)
        return false
    }
}
