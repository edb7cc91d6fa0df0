/// A request to a server.
public struct HTTPRequest: Sendable {
    /// The method, upper case.
    public var method: String
    /// The URL of the request.
    public var address: URI
    /// Header fields; names and values hold no control characters (the transport refuses them).
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: HTTPBody
    /// The certificate that the client shows in the TLS handshake; `nil` to show no certificate.
    public var clientCertificate: ClientCertificate?
    /// How the server is reached, beneath the machine's own settings; `nil` for a request that is of no account
    /// type.
    package var connection: ConnectionSettings?
    /// How large a reply may be in bytes; `nil` for no limit, for downloads only.
    public var maximumReplySize: Int?
    /// The time for all of it in seconds; `nil` for no limit, for transfers only.
    public var timeout: Int?
    /// Whether a successful reply that is cut off, or larger than ``maximumReplySize``, is given as far as it came,
    /// with the reason in ``HTTPResponse/fault``. A body that is compressed with gzip is given as it was before
    /// that.
    package var takesFaultyReply = false

    /// Makes a request with the limits of the protocol's own calls: a reply of 1 MiB, 30 seconds.
    public init(
        method: String = "GET", address: URI, headers: [(name: String, value: String)] = [],
        body: HTTPBody = .none, maximumReplySize: Int? = 1 << 20, timeout: Int? = 30
    ) {
        self.method = method
        self.address = address
        self.headers = headers
        self.body = body
        self.maximumReplySize = maximumReplySize
        self.timeout = timeout
    }
}

/// A client's certificate (RFC 8446 §4.4.2) with its private key, by their PEM files.
public struct ClientCertificate: Sendable, Hashable {
    /// The file of the certificate, with its chain.
    public var certificateFile: String
    /// The file of the private key, not encrypted.
    public var keyFile: String

    /// Names the files.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}

/// The body of a request.
public enum HTTPBody: Sendable {
    /// Nothing.
    case none
    /// These bytes.
    case bytes([UInt8])
    /// The content of a file, read while it is sent.
    case file(path: String)
    /// `multipart/form-data` (RFC 7578).
    case multipart([Part])

    /// One part of a multipart body.
    public struct Part: Sendable {
        /// The field's name.
        public var name: String
        /// Its content.
        public var content: Content

        /// Makes a part.
        public init(name: String, content: Content) {
            self.name = name
            self.content = content
        }

        /// The content of a part.
        public enum Content: Sendable {
            /// A plain field.
            case text(String)
            /// A file, read while it is sent.
            case file(path: String)
        }
    }
}

/// A server's reply.
public struct HTTPResponse: Sendable {
    /// The status code.
    public var status: Int
    /// Header fields in the order received, names in lower case.
    public var headers: [(name: String, value: String)]
    /// The body; empty when it went to a sink.
    public var body: [UInt8]
    /// Why the body is not whole; only in reply to a request with ``HTTPRequest/takesFaultyReply``.
    package var fault: CredentialError?

    /// Makes a reply.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The values of a header field, by its lower-case name, in order.
    public func values(of name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }

    /// The first value of a header field, by its lower-case name.
    public func value(of name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// How far a transfer is.
public struct TransferProgress: Sendable {
    /// Bytes sent and to be sent (0 when not known).
    public var sent: Int64, toSend: Int64
    /// Bytes received and to be received (0 when not known).
    public var received: Int64, toReceive: Int64

    /// Makes a state of a transfer.
    public init(sent: Int64, toSend: Int64, received: Int64, toReceive: Int64) {
        self.sent = sent
        self.toSend = toSend
        self.received = received
        self.toReceive = toReceive
    }
}

/// Receives the parts of a long transfer as they arrive.
public struct TransferObserver {
    /// Takes the status and the header fields once they are complete, then each piece of the body.
    public var head: ((HTTPResponse) -> Void)?
    /// Takes a piece of the body; the body of the response then stays empty. Throwing ends the transfer.
    public var sink: (([UInt8]) throws(CredentialError) -> Void)?
    /// Receives the progress, a few times a second.
    public var progress: ((TransferProgress) -> Void)?
    /// Asked about once a second; `true` ends the transfer as its time limit does.
    package var isGivenUp: (() -> Bool)?

    /// Makes an observer.
    public init(
        head: ((HTTPResponse) -> Void)? = nil, sink: (([UInt8]) throws(CredentialError) -> Void)? = nil,
        progress: ((TransferProgress) -> Void)? = nil
    ) {
        self.head = head
        self.sink = sink
        self.progress = progress
    }
}

/// Sends requests. It never follows a redirect and speaks only to `https` and localhost `http`.
public protocol HTTPTransport: Sendable {
    /// Sends a request and returns the response with any status.
    ///
    /// - Throws: ``ErrorCode/temporary``, naming the host, when no response came (name, connection, TLS, time);
    ///   ``ErrorCode/malformedReply`` when the response is too large or no HTTP; ``ErrorCode/denied`` for an
    ///   insecure address or an invalid certificate.
    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse

    /// Announces a request, so that the transport can get ready meanwhile. The call is optional.
    func prepare()
}

extension HTTPTransport {
    /// Does nothing.
    public func prepare() {}

    /// Sends a request and gives the reply with its body.
    public func send(_ request: HTTPRequest) throws(CredentialError) -> HTTPResponse {
        try send(request, observer: TransferObserver())
    }
}
