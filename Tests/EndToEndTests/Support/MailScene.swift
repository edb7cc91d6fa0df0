import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// A person with a token, and a real Dovecot that asks an introspection endpoint (RFC 7662) about each one.
final class MailScene: Sendable {
    static let user = "alice@example.com"
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/sbin/dovecot")

    let scene: ProgramScene
    let dovecot: Dovecot
    let introspection: LoopbackServer
    /// In which the server's certificate is trusted.
    let environment: [String: String]

    init() throws {
        let scene = try ProgramScene()
        let token = scene.token
        introspection = try LoopbackServer(at: .ipv4) { request in
            let isAlice = String(decoding: request.body, as: UTF8.self).split(separator: "&").contains(
                "token=" + token)
            return .json(200, isAlice ? ["active": true, "email": .string(Self.user)] : ["active": false])
        }
        dovecot = try Dovecot(introspection: "http://127.0.0.1:\(introspection.port)/introspect")
        self.scene = scene
        environment = scene.environment(trusting: dovecot.certificate)
    }

    /// Puts a message into the mailbox.
    func receive(_ subject: String) throws {
        let message = try scene.home.write(
            "From: Bob <bob@example.com>\r\nSubject: \(subject)\r\n\r\nx\r\n", to: "message")
        try scene.run(
            [
                "curl", "-sS", "--max-time", "60", "--noproxy", "*", "--cacert", dovecot.certificate,
                "--oauth2-bearer", scene.token, "-u", Self.user, "-T", message, "imaps://\(dovecot.imaps)/INBOX",
            ], environment)
    }
}
