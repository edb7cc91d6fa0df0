/// Calls procedures of a server by gRPC (HTTP/2, `application/grpc`), one message each way, or a stream of messages
/// back.
package protocol GRPCClient: Sendable {
    /// Calls `method`, `/package.Service/Identifier`, and gives the message of the answer.
    ///
    /// - Parameters:
    ///   - message: in the Protocol Buffers encoding.
    ///   - milliseconds: how long all of it may take.
    func call(
        _ method: String, _ message: [UInt8], milliseconds: Int
    ) throws(GRPCError) -> [UInt8]

    /// Calls `method` and hands each message of the answer to `take`, until that gives `false` or the server ends
    /// it.
    ///
    /// - Parameters:
    ///   - metadata: lines that go with the call, as `hasleader: true`.
    ///   - isWanted: asked about once a second; the stream is given up when it says no.
    func stream(
        _ method: String, _ message: [UInt8], metadata: [String], isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(GRPCError)
}

/// Why a remote procedure gave no answer.
package enum GRPCError: Error {
    /// The request has not reached the server.
    case unreached(CredentialError)
    /// The connection broke or took too long: the client does not know whether the server did it.
    case broken(CredentialError)
    /// The server's own answer: gRPC's status code and the server's words.
    case status(Int, String)
}
