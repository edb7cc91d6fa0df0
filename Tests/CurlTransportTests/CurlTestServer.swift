import CredentialCore
import Foundation
import TestSupport

/// `Tests/Servers/scripted-http`: prepared replies over real sockets, and a record of the requests.
final class CurlTestServer {
    /// A request that the server received.
    struct Request {
        let head: String
        let body: [UInt8]

        /// The values of a header field, in order.
        func values(of name: String) -> [String] {
            head.components(separatedBy: "\r\n").dropFirst().filter {
                $0.lowercased().hasPrefix(name.lowercased() + ":")
            }.map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
        }
    }

    /// A reply of the script.
    enum Reply {
        /// Text with `\n` as line end in the head, sent with CR LF.
        case text(String)
        /// These bytes.
        case bytes([UInt8])
        /// None, ever.
        case stall
    }

    let port: UInt16
    private let folder: TemporaryFolder
    private let certificate: TestAuthority.Certificate?
    private let process: RunningProcess

    init(_ replies: Reply..., certificate: TestAuthority.Certificate? = nil) throws {
        folder = try TemporaryFolder()
        self.certificate = certificate
        var arguments = certificate.map { ["--tls", $0.certificateFile, $0.keyFile] } ?? []
        for (index, reply) in replies.enumerated() {
            let path = folder.path + "/reply-\(index)"
            switch reply {
            case .stall:
                arguments.append("stall")
                continue
            case .text(let text):
                try Data(text.replacingOccurrences(of: "\n", with: "\r\n").utf8).write(
                    to: URL(fileURLWithPath: path))
            case .bytes(let bytes): try Data(bytes).write(to: URL(fileURLWithPath: path))
            }
            arguments.append(path)
        }
        let servers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        process = try ChildProcess(
            servers.appendingPathComponent("Servers/scripted-http").path, arguments,
            environment: ["PATH": "/usr/bin:/bin"]
        ).start(input: .pipe)
        guard let port = try process.line().flatMap({ UInt16($0) }) else { throw CocoaError(.fileReadCorruptFile) }
        self.port = port
    }

    /// An address of this server.
    func address(
        _ path: String = "/", scheme: String = "http", host: String = "127.0.0.1"
    ) throws -> URI {
        guard let address = URI("\(scheme)://\(host):\(port)\(path)") else {
            throw CocoaError(.formatting)
        }
        return address
    }

    /// Ends the server and gives the requests that it received.
    func stop() throws -> [Request] {
        process.closeInput()
        // The first line is the port.
        let lines = try process.outcome().standardOutput.split(separator: "\n").dropFirst()
        return try lines.map { line in
            let fields = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
            return Request(
                head: fields["head"] ?? "", body: [UInt8](Data(base64Encoded: fields["body"] ?? "") ?? Data()))
        }
    }
}

/// A certificate authority made by openssl(1) for one test.
final class TestAuthority {
    /// A server's certificate and key.
    struct Certificate {
        let certificateFile: String, keyFile: String
        fileprivate let authority: TestAuthority
    }

    /// The authority's own certificate, to be trusted.
    let file: String
    private let folder: TemporaryFolder

    /// Makes an authority.
    ///
    /// - Parameter name: its common name: OpenSSL asks the system's folder for no name that it has a certificate
    ///   of.
    init(_ name: String = "test authority") throws {
        folder = try TemporaryFolder()
        file = folder.path + "/ca.pem"
        try run(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            path("ca.key"),
            "-out", file, "-days", "2", "-subj", "/CN=\(name)", "-addext",
            "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    }

    /// A certificate for a server with this alternative name, valid for so many days from now.
    func certificate(for name: String = "IP:127.0.0.1", isExpired: Bool = false) throws -> Certificate {
        let extensions = path("extensions"), request = path("request.pem")
        let certificate = Certificate(
            certificateFile: path("server.pem"), keyFile: path("server.key"), authority: self)
        try Data("subjectAltName=\(name)\nextendedKeyUsage=serverAuth\n".utf8).write(
            to: URL(fileURLWithPath: extensions))
        try run(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", certificate.keyFile,
            "-out", request, "-subj", "/CN=test server")
        // openssl x509 takes a negative number of days: a certificate that ended before it began.
        try run(
            "x509", "-req", "-in", request, "-CA", file, "-CAkey", path("ca.key"), "-CAcreateserial", "-days",
            isExpired ? "-1" : "1", "-extfile", extensions, "-out", certificate.certificateFile)
        return certificate
    }

    private func path(_ name: String) -> String { folder.path + "/" + name }

    private func run(_ arguments: String...) throws {
        let outcome = try ChildProcess("openssl", arguments).run()
        guard outcome.exitStatus == 0 else { throw CocoaError(.executableLoad) }
    }
}
