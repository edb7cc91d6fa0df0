import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// The request that `request` sends: method, body and header fields as the options give them.
struct RequestMessage: Sendable {
    let method: String
    private var body: HTTPBody
    private var contentType: String?
    private let headers: [(name: String, value: String)]

    init(_ arguments: Arguments, _ session: CommandSession) throws(CredentialError) {
        method = arguments[RequestCommand.method].uppercased()
        guard !method.isEmpty, method.utf8.allSatisfy({ $0 >= 0x41 && $0 <= 0x5A }) else {
            throw CredentialError(.usage, "'\(UntrustedText.shown(method, limit: 40))' is not an HTTP method")
        }
        headers = try arguments[RequestCommand.header].map { (name, value) throws(CredentialError) in
            if ["authorization", "dpop", "host", "content-length"].contains(name.lowercased()) {
                throw CredentialError(.usage, "the header field \(name) is set by credmgr itself")
            }
            try HTTPField.check(name, value)
            return (name, String(value.drop { $0 == " " }))
        }
        let form = arguments[RequestCommand.form]
        let files = arguments[RequestCommand.file]
        let given = [
            !form.isEmpty || !files.isEmpty, arguments[RequestCommand.json] != nil,
            arguments[RequestCommand.data] != nil,
        ]
        guard given.count(where: { $0 }) <= 1 else {
            throw CredentialError(.usage, "--form and --file, --json and --data exclude each other")
        }
        body = .none
        if !files.isEmpty {
            body = .multipart(try Self.parts(form, files))
        } else if !form.isEmpty {
            body = .bytes(Array(FormURLEncoding.encode(form).utf8))
            contentType = "application/x-www-form-urlencoded"
        } else if let json = arguments[RequestCommand.json] {
            body = .bytes(try Self.json(json, session))
            contentType = "application/json"
        } else if let data = arguments[RequestCommand.data] {
            body = try Self.data(data, session)
            contentType = "application/octet-stream"
        }
    }

    /// The request without its token.
    func request(
        to address: URI, of type: AccountType, _ session: CommandSession
    ) throws(CredentialError) -> HTTPRequest {
        var fields = headers
        let names = Set(headers.map { $0.name.lowercased() })
        if let contentType, !names.contains("content-type") { fields.append(("Content-Type", contentType)) }
        if !names.contains("accept") { fields.append(("Accept", "application/json, */*;q=0.5")) }
        var request = HTTPRequest(
            method: method, address: address, headers: fields, body: body, maximumReplySize: nil,
            timeout: session.options.timeout)
        // A token may be bound to the certificate (RFC 8705 §3).
        request.clientCertificate = type.clientCertificate
        return request
    }

    private static func parts(
        _ form: [(name: String, value: String)], _ files: [(name: String, value: String)]
    ) throws(CredentialError) -> [HTTPBody.Part] {
        var parts = form.map { HTTPBody.Part(name: $0.name, content: .text($0.value)) }
        for (name, value) in files {
            guard value.hasPrefix("@"), value.count > 1 else {
                throw CredentialError(.usage, "--file must be KEY=@FILE")
            }
            parts.append(HTTPBody.Part(name: name, content: .file(path: String(value.dropFirst()))))
        }
        return parts
    }

    private static let inputLimit = 64 << 20

    private static func json(_ text: String, _ session: CommandSession) throws(CredentialError) -> [UInt8] {
        // RFC 8259 §8.1: no byte order mark goes over the network.
        let bytes = try bytes(of: text, session).withoutByteOrderMark
        _ = try value(of: bytes, option: "json")
        return bytes
    }

    /// The JSON that an option says: the text, or `@FILE`, or `@-` for standard input.
    ///
    /// - Throws: ``ErrorCode/usage`` for invalid JSON, or a missing file.
    static func value(
        of text: String, option: String, _ session: CommandSession
    ) throws(CredentialError) -> JSONValue {
        try value(of: try bytes(of: text, session).withoutByteOrderMark, option: option)
    }

    private static func value(of bytes: [UInt8], option: String) throws(CredentialError) -> JSONValue {
        do {
            return try JSONValue.parse(bytes, limits: .ownFile)
        } catch {
            throw CredentialError(.usage, "the value of --\(option) is not JSON: \(error)")
        }
    }

    private static func bytes(of text: String, _ session: CommandSession) throws(CredentialError) -> [UInt8] {
        guard text.hasPrefix("@") else { return Array(text.utf8) }
        if text == "@-" { return try session.context.console.readInput(limit: inputLimit) }
        let path = String(text.dropFirst())
        guard let file = try session.context.typeFiles.read(path) else {
            throw CredentialError(.usage, "there is no file \(UntrustedText.shown(path))")
        }
        return file.bytes
    }

    private static func data(_ text: String, _ session: CommandSession) throws(CredentialError) -> HTTPBody {
        guard text.hasPrefix("@"), text.count > 1 else { return .bytes(Array(text.utf8)) }
        if text == "@-" { return .bytes(try session.context.console.readInput(limit: inputLimit)) }
        return .file(path: String(text.dropFirst()))
    }
}
