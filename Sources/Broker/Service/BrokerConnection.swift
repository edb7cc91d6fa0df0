public import CredentialCore

/// A connection to a broker's socket.
public protocol BrokerConnection: Sendable {
    /// Reads the available bytes, and waits if no byte is available.
    ///
    /// - Parameters:
    ///   - limit: the largest number of bytes to return.
    ///   - milliseconds: for how long to wait at most.
    /// - Returns: the bytes; empty at the end of the stream.
    /// - Throws: ``ErrorCode/temporary`` if the time is over; ``ErrorCode/inputOutput``; ``ErrorCode/usage`` if a
    ///   descriptor came with the bytes.
    func read(atMost limit: Int, deadlineMilliseconds milliseconds: Int) throws(CredentialError) -> [UInt8]

    /// Writes all bytes.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the peer has closed the connection or does not read.
    func write(_ bytes: [UInt8]) throws(CredentialError)
}

/// A language of the socket.
public protocol BrokerConversation: Sendable {
    /// Serves a connection until its end; the server closes it afterwards.
    ///
    /// - Parameters:
    ///   - first: the bytes that were read to choose the language.
    func serve(_ connection: any BrokerConnection, first: [UInt8], caller: Caller)
}
