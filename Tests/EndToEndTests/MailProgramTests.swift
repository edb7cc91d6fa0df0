import Foundation
import TestSupport
import Testing

/// Mail programs and a real Dovecot, which asks an introspection endpoint (RFC 7662) about each token.
@Suite(
    .needs(Need("dovecot", isThere: MailScene.isInstalled)))
struct `Mail programs with a token` {
    private let mail: MailScene
    private var scene: ProgramScene { mail.scene }
    private var dovecot: Dovecot { mail.dovecot }
    private var environment: [String: String] { mail.environment }
    private static let user = MailScene.user

    init() throws { mail = try MailScene() }

    /// `credmgr setup` of a program for one of the servers, proven by a sign-in there.
    private func setUp(_ program: String, _ host: String) throws {
        try scene.setUp([program, "--host", host], environment)
    }

    @Test(arguments: ["XOAUTH2", "OAUTHBEARER"])
    func `IMAP and submission accept only the user, by either mechanism`(_ mechanism: String) throws {
        func curl(_ token: String, exits status: Int32) throws {
            try scene.run(
                [
                    "curl", "-sS", "--max-time", "60", "--noproxy", "*", "--cacert", dovecot.certificate,
                    "--login-options", "AUTH=\(mechanism)", "--oauth2-bearer", token, "-u", Self.user,
                    "imaps://\(dovecot.imaps)/",
                ], environment, exits: status)
            try scene.run(
                [
                    "curl", "-sS", "--max-time", "60", "--noproxy", "*", "--cacert", dovecot.certificate,
                    "--ssl-reqd",
                    "--login-options", "AUTH=\(mechanism)", "--oauth2-bearer", token, "-u", Self.user,
                    "--mail-from",
                    Self.user, "--mail-rcpt", "bob@example.com", "-T", "-", "smtp://\(dovecot.submission)/",
                ], environment, input: "Subject: by \(mechanism)\r\n\r\nx\r\n", exits: status)
        }
        try curl(scene.token, exits: 0)
        #expect(dovecot.delivered.contains("Subject: by \(mechanism)"))
        try curl("another", exits: 67)
        ProgramVersion.tell("Dovecot", environment)
    }

    @Test func `the initial response of XOAUTH2 has the form that Dovecot requires`() throws {
        let response = try scene.home.run(["token", "--format", "xoauth2"]).line
        let client = try ChildProcess(
            "env",
            [
                "openssl", "s_client", "-quiet", "-verify_return_error", "-CAfile", dovecot.certificate, "-connect",
                dovecot.imaps,
            ], environment: environment
        ).start(input: .pipe)
        // Before its greeting, Dovecot has room for one short line only.
        try client.wait(for: "CAPABILITY", on: .output)
        try client.write("a AUTHENTICATE XOAUTH2 \(response)\r\nb LOGOUT\r\n")
        let said = try client.outcome()
        #expect(said.standardOutput.contains("a OK"), "\(said.standardOutput)\(said.standardError)")
    }

    @Test func `msmtp sends, and its setup sends nothing`() throws {
        try scene.home.write("defaults\ntls_trust_file \(dovecot.certificate)\n", to: "config/msmtp/config")
        try setUp("msmtp", dovecot.submission)
        #expect(dovecot.delivered.isEmpty)
        try scene.run(
            ["msmtp", "-a", "credmgr-\(DemoTenant.typeName)", "bob@example.com"], environment,
            input: "Subject: by msmtp\n\nx\n")
        #expect(dovecot.delivered.contains("Subject: by msmtp"))
    }

    @Test func `mbsync fetches the messages of the mailbox`() throws {
        try mail.receive("there")
        try setUp("mbsync", dovecot.imaps)
        let file = "config/isyncrc", own = scene.home.text(of: file) ?? scene.home.text(of: ".mbsyncrc") ?? ""
        let name = scene.home.text(of: file) == nil ? ".mbsyncrc" : file
        let near = scene.home.path + "/mail"
        try FileManager.default.createDirectory(atPath: near, withIntermediateDirectories: true)
        try scene.home.write(
            own + """

                IMAPStore far
                Account credmgr-\(DemoTenant.typeName)

                MaildirStore near
                Path \(near)/
                Inbox \(near)/INBOX

                Channel all
                Far :far:
                Near :near:
                Patterns *
                Create Near

                """, to: name)
        try scene.run(["mbsync", "-c", scene.home.path + "/" + name, "all"], environment)
        let fetched = try ["new", "cur"].flatMap {
            try FileManager.default.contentsOfDirectory(atPath: near + "/INBOX/" + $0)
        }
        #expect(fetched.count == 1)
    }

    @Test func `neomutt opens the mailbox, and mutt sends`() throws {
        let trust =
            "set ssl_ca_certificates_file=\"\(dovecot.certificate)\" certificate_file=\"\(dovecot.certificate)\"\n"
        try scene.home.write(trust, to: "config/neomutt/neomuttrc")
        try setUp("neomutt", dovecot.imaps)
        ProgramVersion.tell("neomutt", environment)
        // By the same lines. neomutt of Debian 12 sends no token of more than 1,000 characters.
        try scene.run(
            [
                "mutt", "-n", "-F", scene.home.path + "/config/neomutt/neomuttrc", "-e",
                "set smtp_url=\"smtp://\(Self.user)@\(dovecot.submission)\" from=\(Self.user) copy=no", "-s",
                "by mutt", "bob@example.com",
            ], environment, input: "x\n")
        #expect(dovecot.delivered.contains("Subject: by mutt"))
    }

    @Test func `setup fails if the mail server accepts no sign-in`() throws {
        try scene.home.write("defaults\ntls_trust_file \(dovecot.certificate)\n", to: "config/msmtp/config")
        let trust =
            "set ssl_ca_certificates_file=\"\(dovecot.certificate)\" certificate_file=\"\(dovecot.certificate)\"\n"
        try scene.home.write(trust, to: "config/neomutt/neomuttrc")
        mail.introspection.stop()
        // Not mbsync: its SASL plugin waits for the server after the server has refused.
        for (program, host) in [("msmtp", dovecot.submission), ("neomutt", dovecot.imaps)] {
            let refused = try scene.home.run(
                ["setup", program, "--type", DemoTenant.typeName, "--host", host], environment: environment,
                exits: 1)
            #expect(refused.standardError.contains("the server rejected"), "\(program)")
        }
    }
}
