import CredentialCore
import OAuth
import Platform
import StrictJSON
import Synchronization

/// Carries messages of the Model Context Protocol between standard input and output and a server's address (its
/// Streamable HTTP transport, revisions 2025-03-26 to 2025-11-25).
///
/// Each request is under way on a thread of its own: a server may ask something back before it answers.
/// Notifications and answers go one after the other, as they come.
final class MCPBridge: Sendable {
    private let session: CommandSession
    private let target: Target
    private let address: URI
    private let access: TokenAcquirer
    private let state = Mutex(State())
    private let output = Mutex(())
    private let refreshing = Mutex(())
    private let renewing = Mutex(())

    private struct State {
        var sessionID: String?
        var protocolVersion: String?
        /// How the client began, to begin again if the server has ended the session.
        var hello: JSONRPCMessage?
        var isInitialized = false
        /// Whether the bridge receives the server's own messages.
        var isListening = false
        /// The last message about a token that could not be renewed.
        var told: String?
    }

    private typealias Call = ThreadTask<Void, Never>

    /// The longest message, in bytes.
    private static let longest = 64 << 20
    /// How long unfinished requests may take after the client has gone, in seconds.
    private static let patience: Int32 = 60

    init(_ session: CommandSession, _ target: Target, _ address: URI) {
        self.session = session
        self.target = target
        self.address = address
        access = TokenAcquirer(session)
    }

    /// Carries messages until standard input ends and each request has its response.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` for input that cannot be read.
    func run() throws(CredentialError) {
        var calls: [Call] = []
        while let line = try session.context.console.readInputLine(limit: Self.longest) {
            guard line.utf8.contains(where: { $0 > 0x20 }) else { continue }
            let message = JSONRPCMessage(line)
            calls.removeAll { $0.result(until: Deadline(milliseconds: 0)) != nil }
            if message.isRequest, message.method != "initialize" {
                calls.append(try Call { self.carry(message) })
            } else {
                carry(message)
            }
            // The server may have something to say by itself from now on.
            if message.method == "notifications/initialized" {
                state.withLock { $0.isInitialized = true }
                try beginListening()
            }
        }
        let deadline = Deadline(milliseconds: Self.patience * 1_000)
        for call in calls { _ = call.result(until: deadline) }
        goodbye()
    }

    // MARK: Messages

    /// A message of the client, and as much of it as has to be known here.
    private struct JSONRPCMessage {
        let text: String
        let method: String?
        let id: JSONValue?
        /// Header fields that say the same as the message, as the revision of 2026 wants them.
        let fields: [(name: String, value: String)]

        init(_ line: String) {
            text = line
            let object = (try? JSONValue.parse(Array(line.utf8), limits: .ownFile))?.object
            method = object?["method"]?.string
            id = object?["id"]
            let parameters = object?["params"]?.object
            guard let method, let metadata = parameters?["_meta"]?.object,
                let version = metadata["io.modelcontextprotocol/protocolVersion"]?.string
            else {
                fields = []
                return
            }
            let named = ["tools/call": "name", "prompts/get": "name", "resources/read": "uri"][method]
            let name = named.flatMap { parameters?[$0]?.string }
            let all = [("mcp-protocol-version", version), ("mcp-method", method), ("mcp-name", name ?? "")]
            fields = all.compactMap { $0.1.isEmpty ? nil : (name: $0.0, value: Self.fieldValue($0.1)) }
        }

        /// A text as the value of a header field: encoded if it would not come through unchanged.
        private static func fieldValue(_ text: String) -> String {
            let isPlain =
                text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && !text.hasPrefix("=?base64?")
                && text.first != " " && text.last != " "
            return isPlain ? text : "=?base64?" + Base64URL.encodeOrdinary(Array(text.utf8)) + "?="
        }

        /// Whether it gets a response; an unreadable message may get one.
        var isRequest: Bool { method != nil && id != nil }
    }

    private func carry(_ message: JSONRPCMessage) {
        do throws(CredentialError) {
            let used = state.withLock { $0.sessionID }
            var reply = try post(message)
            if reply.status == 404, let used, message.method != "initialize", message.fields.isEmpty,
                try renewSession(used)
            {
                reply = try post(message)
            }
            // A server's own error goes to the client as it is.
            if reply.status >= 400, var answer = (try? JSONValue.parse(reply.body, limits: .ownFile))?.object,
                answer["error"]?.object?["code"] != nil
            {
                answer["id"] = message.id
                if message.isRequest { write(JSONValue.object(answer).bytes(), isFirst: false) }
                return
            }
            guard reply.status < 400 else {
                throw CredentialError(
                    .httpStatus, "\(address.origin) responded with status \(reply.status)",
                    details: [UntrustedText.shown(String(decoding: reply.body, as: UTF8.self), limit: 500)])
            }
        } catch {
            session.notices.error(error)
            guard message.isRequest else { return }
            var failure = JSONObject()
            failure["code"] = -32_000
            failure["message"] = .string(error.message)
            if let hint = error.hint { failure["data"] = ["hint": .string(hint)] }
            var answer = JSONObject()
            answer["jsonrpc"] = "2.0"
            answer["id"] = message.id
            answer["error"] = .object(failure)
            write(JSONValue.object(answer).bytes(), isFirst: false)
        }
    }

    /// Sends a message; the response goes to the client.
    private func post(_ message: JSONRPCMessage) throws(CredentialError) -> HTTPResponse {
        let isFirst = message.method == "initialize"
        let reply = try post(message) { self.write($0, isFirst: isFirst) }
        if isFirst {
            let id = reply.value(of: "mcp-session-id")
            state.withLock { ($0.sessionID, $0.hello) = (id, message) }
        }
        return reply
    }

    private func post(
        _ message: JSONRPCMessage, emit: @escaping ([UInt8]) -> Void
    ) throws(CredentialError) -> HTTPResponse {
        var request = HTTPRequest(
            method: "POST", address: address, body: .bytes(Array(message.text.utf8)), maximumReplySize: nil,
            timeout: nil)
        let isFirst = message.method == "initialize"
        request.headers = message.fields.isEmpty ? (isFirst ? [] : headers) : message.fields
        request.headers += [
            ("content-type", "application/json"), ("accept", "application/json, text/event-stream"),
        ]
        return try send(request, emit: emit)
    }

    /// Begins a new session as the client began the first one: a server may end a session at any time, and reports
    /// it by 404 (Streamable HTTP, "Session Management"). The client is not asked and gets no second answer.
    ///
    /// - Parameter used: the session that the server does not know any more; of several messages that meet this,
    ///   one begins the new session.
    /// - Returns: whether there is another session now.
    private func renewSession(_ used: String) throws(CredentialError) -> Bool {
        let outcome: Result<Bool, CredentialError> = renewing.withLock { _ in
            let (current, hello, isInitialized) = state.withLock { ($0.sessionID, $0.hello, $0.isInitialized) }
            guard current == used else { return .success(current != nil) }
            guard let hello else { return .success(false) }
            do throws(CredentialError) {
                let reply = try post(hello) { self.write($0, exceptAnswerTo: hello.id) }
                guard (200..<300).contains(reply.status), let id = reply.value(of: "mcp-session-id"), id != used
                else { return .success(false) }
                state.withLock { $0.sessionID = id }
                if isInitialized {
                    _ = try post(JSONRPCMessage(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)) {
                        self.write($0, isFirst: false)
                    }
                    try beginListening()
                }
                return .success(true)
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    private func beginListening() throws(CredentialError) {
        let isFirst = state.withLock { state in
            defer { state.isListening = true }
            return !state.isListening
        }
        guard isFirst else { return }
        _ = try Call {
            self.listen()
            self.state.withLock { $0.isListening = false }
        }
    }

    /// Receives the server's own messages, if the server sends any.
    private func listen() {
        while true {
            var request = HTTPRequest(address: address, maximumReplySize: nil, timeout: nil)
            request.headers = headers + [("accept", "text/event-stream")]
            let reply = try? send(request) { self.write($0, isFirst: false) }
            guard let reply, reply.status == 200 else { return }
            session.context.programs.pause(seconds: 1)
        }
    }

    /// Tells the server that the client has left; whether the server supports that does not matter.
    private func goodbye() {
        guard state.withLock({ $0.sessionID }) != nil else { return }
        let request = HTTPRequest(method: "DELETE", address: address, headers: headers, timeout: 5)
        _ = try? send(request) { _ in }
    }

    private var headers: [(name: String, value: String)] {
        let (sessionID, version) = state.withLock { ($0.sessionID, $0.protocolVersion) }
        var headers: [(name: String, value: String)] = []
        if let sessionID { headers.append(("mcp-session-id", sessionID)) }
        if let version { headers.append(("mcp-protocol-version", version)) }
        return headers
    }

    // MARK: The server

    /// Sends a request with the account's token, and once more with a new one if the server refuses it.
    ///
    /// - Parameter emit: takes each message of the reply as it comes.
    private func send(
        _ request: HTTPRequest, emit: @escaping ([UInt8]) -> Void
    ) throws(CredentialError) -> HTTPResponse {
        var request = request
        request.clientCertificate = target.type.clientCertificate
        let first = try token(except: nil)
        var reply = try send(request, with: first, emit)
        if reply.status == 401 || reply.status == 403, try isWorthRepeating(reply, first) {
            // The token was to be renewed just now: the failed step is not tried again at once.
            if let failure = first.failure { throw failure }
            reply = try send(request, with: try token(except: first.token.token), emit)
            _ = try isWorthRepeating(reply, first)
        }
        return reply
    }

    /// Whether a new token may help.
    ///
    /// - Throws: ``ErrorCode/signInRequired`` and ``ErrorCode/denied`` if the user has to act.
    private func isWorthRepeating(
        _ reply: HTTPResponse, _ answer: TokenService.Answer
    ) throws(CredentialError) -> Bool {
        if let advice = StepUpHint(reply, from: address) {
            throw advice.error(
                of: target.account, in: target.group, under: target.type, token: answer.token,
                grant: try access.grant(of: answer.token, target), now: session.context.clock.now)
        }
        guard reply.status == 401 else { return false }
        if let moved = try ResourceTypeDiscovery.moved(
            target.type, address, reply, in: session.services(session.stores()).adapterContext(of: target.type))
        {
            throw moved
        }
        return AuthenticationChallenge.parse(reply.values(of: "www-authenticate"))
            .contains(where: \.asksForFreshToken)
    }

    /// A token that is valid; not `refused`, for which one refresh is made however many requests met it.
    private func token(except refused: Secret?) throws(CredentialError) -> TokenService.Answer {
        var query = TokenQuery()
        guard let refused else {
            let answer = try access.token(query, target)
            tell(answer)
            return answer
        }
        let outcome: Result<TokenService.Answer, CredentialError> = refreshing.withLock { _ in
            do throws(CredentialError) {
                let newer = try access.token(query, target)
                if newer.token.token != refused { return .success(newer) }
                if let failure = newer.failure { return .failure(failure) }
                query.forceRefresh = true
                return .success(try access.token(query, target))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    /// Reports the notes of an answer to the user; the reason why a token cannot be renewed once, not with each
    /// message.
    private func tell(_ answer: TokenService.Answer) {
        let failure = answer.failure?.message
        let isKnown = state.withLock { state in
            defer { state.told = failure }
            return failure != nil && state.told == failure
        }
        if !isKnown { access.tell(answer) }
    }

    private func send(
        _ request: HTTPRequest, with answer: TokenService.Answer, _ emit: @escaping ([UInt8]) -> Void
    ) throws(CredentialError) -> HTTPResponse {
        let resource = ResourceRequest(
            token: answer.token.token, type: answer.token.tokenType, prover: try access.prover(of: answer, target))
        var receiver = Receiver(emit)
        var response = try resource.send(
            request, in: session.services(session.stores(mayPrompt: false)).adapterContext(of: target.type)
        ) {
            let fresh = Receiver(emit)
            receiver = fresh
            return TransferObserver(
                head: { fresh.head = $0 },
                sink: { (piece) throws(CredentialError) in try fresh.take(piece) })
        }
        receiver.finish()
        response.body = receiver.held
        return resource.cleaned(response)
    }

    /// The messages of one reply.
    private final class Receiver {
        var head: HTTPResponse?
        private(set) var held: [UInt8] = []
        private var events = EventStreamReader(limit: MCPBridge.longest)
        private let emit: ([UInt8]) -> Void

        init(_ emit: @escaping ([UInt8]) -> Void) { self.emit = emit }

        private var isSuccess: Bool { head.map { (200..<300).contains($0.status) } ?? false }
        private var isStream: Bool {
            head?.value(of: "content-type")?.lowercased().hasPrefix("text/event-stream") ?? false
        }

        func take(_ piece: [UInt8]) throws(CredentialError) {
            if isSuccess, isStream {
                for event in try events.read(piece) { emit(event) }
                return
            }
            guard held.count + piece.count <= MCPBridge.longest else {
                throw CredentialError(
                    .malformedReply, "the server's message is larger than \(MCPBridge.longest >> 20) MiB")
            }
            held += piece
        }

        func finish() {
            if isSuccess, !isStream, held.contains(where: { $0 > 0x20 }) { emit(held) }
        }
    }

    // MARK: The client

    /// Writes one message as one line. Between the values of JSON a line break becomes a blank, and within them
    /// there is no line break.
    private func write(_ message: [UInt8], isFirst: Bool) {
        if isFirst, let result = (try? JSONValue.parse(message, limits: .ownFile))?.object?["result"]?.object {
            state.withLock { $0.protocolVersion = result["protocolVersion"]?.string.flatMap(Self.fieldValue) }
        }
        let line = message.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
        output.withLock { _ in
            // A client that has gone is noticed at the end of standard input.
            try? session.context.console.writeResult(line + [UInt8(ascii: "\n")])
        }
    }

    /// Writes a message of a session that the client did not begin: its answer to the first request is kept back.
    private func write(_ message: [UInt8], exceptAnswerTo id: JSONValue?) {
        let object = (try? JSONValue.parse(message, limits: .ownFile))?.object
        guard object?["method"] == nil, object?["id"] == id else { return write(message, isFirst: false) }
        let version = object?["result"]?.object?["protocolVersion"]?.string.flatMap(Self.fieldValue)
        if let version { state.withLock { $0.protocolVersion = version } }
    }

    private static func fieldValue(_ text: String) -> String? {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? text : nil
    }
}
