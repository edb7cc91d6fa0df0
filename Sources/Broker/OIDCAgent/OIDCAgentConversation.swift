package import CredentialCore
import StrictJSON

/// The language of oidc-agent: one request and one reply, plain or encrypted.
package struct OIDCAgentConversation: BrokerConversation {
    /// The greatest request in bytes.
    private static let limit = 1 << 16
    /// The characters of a public key in base64.
    private static let keyLength = 44

    private let releaser: any TokenReleaser
    private let boxes: any BoxCryptography
    private let clock: any BootClock
    private let refuse: @Sendable (_ reason: String, Caller) -> Void

    /// Makes the language of a broker.
    ///
    /// - Parameter refuse: is called for a request that the releaser does not see.
    package init(
        _ releaser: any TokenReleaser, boxes: any BoxCryptography, clock: any BootClock,
        refuse: @escaping @Sendable (_ reason: String, Caller) -> Void
    ) {
        self.releaser = releaser
        self.boxes = boxes
        self.clock = clock
        self.refuse = refuse
    }

    package func serve(_ connection: any BrokerConnection, first: [UInt8], caller: Caller) {
        var input = OIDCAgentInput(connection, first: first, clock: clock)
        do throws(CredentialError) {
            if first.first == UInt8(ascii: "{") {
                guard let request = input.object(limit: Self.limit) else { return refuse("malformed", caller) }
                try connection.write(reply(to: request, caller).bytes())
            } else {
                try serveEncrypted(connection, &input, caller)
            }
        } catch {
            // The peer has closed the connection: no reply can reach it.
            return
        }
    }

    private func serveEncrypted(
        _ connection: any BrokerConnection, _ input: inout OIDCAgentInput, _ caller: Caller
    ) throws(CredentialError) {
        guard let text = input.take(Self.keyLength), let key = Base64URL.decodeOrdinary(text),
            let session = boxes.makeSession(with: key)
        else { return refuse("malformed", caller) }
        try connection.write(Array(Base64URL.encodeOrdinary(session.publicKey).utf8))
        guard let request = frame(&input, session) else { return refuse("malformed", caller) }
        let plain = reply(to: request, caller).bytes(), nonce = session.nonce()
        guard let box = session.seal(plain, nonce) else { return refuse("failed", caller) }
        let parts = [String(plain.count), Base64URL.encodeOrdinary(nonce), Base64URL.encodeOrdinary(box)]
        try connection.write(Array(parts.joined(separator: ":").utf8))
    }

    /// Reads `LENGTH:NONCE:BOX`. The length gives the end of the frame, as a frame has no other end.
    private func frame(_ input: inout OIDCAgentInput, _ session: BoxSession) -> [UInt8]? {
        guard let digits = input.take(upTo: UInt8(ascii: ":"), limit: 6), !digits.isEmpty, !digits.hasPrefix("0"),
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(digits), length <= Self.limit,
            let nonceText = input.take(Self.base64Length(session.nonceSize) + 1), nonceText.hasSuffix(":"),
            let nonce = Base64URL.decodeOrdinary(String(nonceText.dropLast())), nonce.count == session.nonceSize,
            let boxText = input.take(Self.base64Length(length + session.overhead)),
            let box = Base64URL.decodeOrdinary(boxText), box.count == length + session.overhead, input.isAtEnd
        else { return nil }
        return session.open(box, nonce)
    }

    private static func base64Length(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    private func reply(to request: [UInt8], _ caller: Caller) -> JSONValue {
        let ask: TokenAsk
        do throws(BrokerFailure) { ask = try self.ask(request) } catch {
            // The releaser, which writes the other refusals, does not see this request.
            refuse(error.error.rawValue, caller)
            return Self.reply(error)
        }
        do throws(BrokerFailure) {
            let token = try releaser.release(ask, to: caller)
            return [
                "status": "success", "access_token": .string(token.accessToken.reveal()),
                "issuer": JSONValue(token.issuer), "expires_at": .integer(token.expiresOn ?? 0),
            ]
        } catch { return Self.reply(error) }
    }

    private static func reply(_ failure: BrokerFailure) -> JSONValue {
        let text = failure.reason.map { "\(failure.error.rawValue): \($0)" } ?? failure.error.rawValue
        return ["status": "failure", "error": .string(text)]
    }

    /// Reads a request. Members that oidc-agent may add are ignored, as its protocol says.
    private func ask(_ request: [UInt8]) throws(BrokerFailure) -> TokenAsk {
        guard let object = (try? JSONValue.parse(request))?.object else { throw BrokerFailure(.malformed) }
        guard object["request"]?.string == "access_token" else {
            throw BrokerFailure(.malformed, reason: "only access_token is supported")
        }
        let account = try text("account", object), issuer = try text("issuer", object)
        var ask = TokenAsk(entry: account)
        if account == nil { ask.issuer = issuer }
        ask.why = try text("application_hint", object)
        ask.audience = try text("audience", object)
        ask.scope = try text("scope", object)?.split(separator: " ").map(String.init)
        if let value = object["min_valid_period"] {
            guard let seconds = value.integer, (0...86_400).contains(seconds) else {
                throw BrokerFailure(.malformed)
            }
            ask.minValid = Int(seconds)
        }
        return ask
    }

    private func text(_ name: String, _ object: JSONObject) throws(BrokerFailure) -> String? {
        guard let value = object[name], value != .null else { return nil }
        guard let text = value.string else { throw BrokerFailure(.malformed) }
        return text.isEmpty ? nil : text
    }
}

/// Reads the parts of a request, all within the time of a first line.
struct OIDCAgentInput {
    private static let time: Int64 = 10_000
    /// The bytes that are read at once: more than a part needs, so that bytes after a frame show.
    private static let piece = 1 << 14

    private let connection: any BrokerConnection
    private let clock: any BootClock
    private let end: Int64
    private var buffer: [UInt8]

    init(_ connection: any BrokerConnection, first: [UInt8], clock: any BootClock) {
        self.connection = connection
        self.clock = clock
        end = clock.milliseconds + Self.time
        buffer = first
    }

    /// Whether no byte is left.
    var isAtEnd: Bool { buffer.isEmpty }

    /// Takes so many bytes; `nil` if they do not come, or are not ASCII.
    mutating func take(_ count: Int) -> String? {
        while buffer.count < count {
            guard readMore(Self.piece) else { return nil }
        }
        let bytes = buffer[..<count]
        guard bytes.allSatisfy({ (0x21..<0x7F).contains($0) }) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        buffer.removeFirst(count)
        return text
    }

    /// Takes the bytes before a separator, and the separator.
    mutating func take(upTo separator: UInt8, limit: Int) -> String? {
        while true {
            if let place = buffer.firstIndex(of: separator) {
                guard place <= limit else { return nil }
                let text = String(decoding: buffer[..<place], as: UTF8.self)
                buffer.removeSubrange(...place)
                return text
            }
            guard buffer.count <= limit, readMore(Self.piece) else { return nil }
        }
    }

    /// Takes a JSON object, which ends with the bytes that make it one.
    mutating func object(limit: Int) -> [UInt8]? {
        while true {
            if buffer.count > limit { return nil }
            let last = buffer.last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if last == UInt8(ascii: "}"), (try? JSONValue.parse(buffer)) != nil { return buffer }
            guard readMore(Self.piece) else { return nil }
        }
    }

    private mutating func readMore(_ count: Int) -> Bool {
        let left = end - clock.milliseconds
        guard left > 0 else { return false }
        do throws(CredentialError) {
            let bytes = try connection.read(atMost: count, deadlineMilliseconds: Int(left))
            buffer += bytes
            return !bytes.isEmpty
        } catch {
            // A late or broken connection gives no more bytes.
            return false
        }
    }
}
