package import CredentialCore
import StrictJSON

/// Chooses the language of a connection by its first bytes.
package struct ConnectionDispatcher: Sendable {
    /// The languages of a broker; `nil` for each that is not configured.
    package struct Languages: Sendable {
        /// credmgr lines.
        package var lines: (any BrokerConversation)?
        /// oidc-agent, plain and encrypted.
        package var oidcAgent: (any BrokerConversation)?
        /// HTTP, with the relay's secret, if its line came first.
        package var http: (@Sendable (_ secret: Secret?) -> any BrokerConversation)?
        /// The proxy, with the relay's secret, if its line came first.
        package var proxy: (@Sendable (_ secret: Secret?) -> any BrokerConversation)?

        /// Makes an empty set.
        package init() {}
    }

    /// The language that first bytes belong to.
    enum Language: Equatable {
        case lines, oidcAgent, http, proxy
        /// The relay's line.
        case via
        /// A language that does not exist.
        case unknown
    }

    private let languages: @Sendable () -> Languages
    private let clock: any BootClock
    private let refuse: @Sendable (_ reason: String, Caller) -> Void

    /// Makes a dispatcher.
    ///
    /// - Parameters:
    ///   - languages: returns the languages that are configured now.
    ///   - refuse: is called before a connection of another language is closed.
    package init(
        clock: any BootClock, refuse: @escaping @Sendable (_ reason: String, Caller) -> Void,
        languages: @escaping @Sendable () -> Languages
    ) {
        self.languages = languages
        self.clock = clock
        self.refuse = refuse
    }

    /// Serves a connection until its end.
    package func serve(_ connection: any BrokerConnection, caller: Caller) {
        var reader = ConnectionReader(connection, first: [], clock: clock)
        let end = clock.milliseconds + ConnectionTimes.head
        var secret: Secret?
        while true {
            guard let language = Self.language(of: reader.buffer) else {
                guard reader.buffer.count <= BrokerLine.limit + 1, let isMore = reader.readMore(until: end) else {
                    return refuse("late", caller)
                }
                if isMore { continue }
                // A line without its newline gets its reply.
                guard secret == nil, reader.buffer.first == UInt8(ascii: "{"), let lines = languages().lines else {
                    if !reader.buffer.isEmpty { refuse("language", caller) }
                    return
                }
                return lines.serve(connection, first: reader.takeAll(), caller: caller)
            }
            if language == .via, secret == nil {
                guard case .line(let line) = reader.line(limit: BrokerLine.limit, until: end),
                    case .via(let value)? = try? BrokerLine.read(line)
                else { return refuse("malformed", caller) }
                secret = value
                continue
            }
            guard let conversation = conversation(language, secret) else { return refuse("language", caller) }
            return conversation.serve(connection, first: reader.takeAll(), caller: caller)
        }
    }

    /// The relay's port is open to more programs than the socket, and only HTTP and the proxy read the secret.
    private func conversation(_ language: Language, _ secret: Secret?) -> (any BrokerConversation)? {
        let languages = languages()
        return switch language {
        case .lines: secret == nil ? languages.lines : nil
        case .oidcAgent: secret == nil ? languages.oidcAgent : nil
        case .http: languages.http?(secret)
        case .proxy: languages.proxy?(secret)
        case .via, .unknown: nil
        }
    }

    private static let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]
    private static let keyLength = 44

    /// Returns the language of first bytes; `nil` if more bytes are needed.
    static func language(of bytes: [UInt8]) -> Language? {
        guard let first = bytes.first else { return nil }
        if first == UInt8(ascii: "{") { return object(bytes) }
        let words = methods + ["CONNECT"]
        for word in words {
            let start = Array((word + " ").utf8)
            if bytes.starts(with: start) { return word == "CONNECT" ? .proxy : .http }
        }
        guard bytes.count < keyLength else {
            let key = bytes.prefix(keyLength)
            let isKey = key.dropLast().allSatisfy(isBase64) && key.last == UInt8(ascii: "=")
            return isKey ? .oidcAgent : .unknown
        }
        // A beginning of either kind can still become one.
        if bytes.allSatisfy(isBase64) { return nil }
        return .unknown
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// The language of an object: oidc-agent does not end its requests with a newline.
    private static func object(_ bytes: [UInt8]) -> Language? {
        let line = bytes.firstIndex(of: UInt8(ascii: "\n")).map { Array(bytes[..<$0]) }
        if line == nil, bytes.count > BrokerLine.limit { return .lines }
        let whole = line ?? bytes
        guard line != nil || whole.last == UInt8(ascii: "}") else { return nil }
        guard let object = (try? JSONValue.parse(whole))?.object else { return line == nil ? nil : .lines }
        if object["op"] == nil, object["request"] != nil { return .oidcAgent }
        guard line != nil else { return nil }
        return object["op"] == "via" ? .via : .lines
    }
}
