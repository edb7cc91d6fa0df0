import Foundation
import TestSupport
import Testing

/// Mail programs that no `setup` writes for, with the lines of docs/how-to/mail.md and a real Dovecot.
@Suite(.needs(Need("dovecot", isThere: MailScene.isInstalled)))
struct `Mail programs with a token, by the lines of the page` {
    private let mail: MailScene
    private var home: Home { mail.scene.home }
    private var port: Substring { mail.dovecot.imaps.split(separator: ":")[1] }

    init() throws { mail = try MailScene() }

    /// The page's lines for a program, for the type that is signed in to here.
    private func lines(of program: String) throws -> [String] {
        let page = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("docs/how-to/mail.md"), encoding: .utf8)
        let row = try #require(page.split(separator: "\n").first { $0.hasPrefix("| \(program) |") })
        return row.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map {
            String($0.element).replacing("Mail\"", with: DemoTenant.typeName + "\"").replacing(
                "--type Mail", with: "--type " + DemoTenant.typeName)
        }
    }

    @Test func `offlineimap fetches`() throws {
        try mail.receive("by offlineimap")
        let file = try home.write(
            """
            [general]
            accounts = A
            metadata = \(home.path)/offlineimap
            [Account A]
            localrepository = L
            remoterepository = R
            [Repository L]
            type = Maildir
            localfolders = \(home.path)/near
            [Repository R]
            type = IMAP
            remotehost = localhost
            remoteport = \(port)
            remoteuser = \(MailScene.user)
            ssl = yes
            sslcacertfile = \(mail.dovecot.certificate)
            \(try lines(of: "offlineimap").joined(separator: "\n"))

            """, to: "outside/offlineimaprc")
        try mail.scene.run(["offlineimap", "-c", file, "-o", "-u", "basic"], mail.environment)
        let folders = ["new", "cur"].map { home.path + "/near/INBOX/" + $0 }
        let fetched = try folders.flatMap { try FileManager.default.contentsOfDirectory(atPath: $0) }
        #expect(fetched.count == 1)
    }

    @Test(.needs(.program("getmail")))
    func `getmail fetches`() throws {
        try mail.receive("by getmail")
        let file = try home.write(
            """
            [retriever]
            type = SimpleIMAPSSLRetriever
            server = localhost
            port = \(port)
            username = \(MailScene.user)
            ca_certs = \(mail.dovecot.certificate)
            \(try lines(of: "getmail 6").joined(separator: "\n"))
            [destination]
            type = MDA_external
            path = /bin/sh
            arguments = ("-c", "cat >>'\(home.path)/box'")
            allow_root_commands = True

            """, to: "outside/getmailrc")
        try mail.scene.run(["getmail", "--getmaildir", home.path + "/outside", "--rcfile", file], mail.environment)
        #expect(home.text(of: "box")?.contains("Subject: by getmail") == true)
    }

    @Test(.needs(.program("aerc")))
    func `aerc shows the mailbox`() throws {
        try mail.receive("by aerc")
        let account = try lines(of: "aerc").joined(separator: "\n")
            .replacing("USER", with: MailScene.user.replacing("@", with: "%40")).replacing(
                "HOST", with: "localhost:\(port)")
        try home.write(
            "[A]\n\(account)\ndefault = INBOX\nfrom = <\(MailScene.user)>\n", to: "config/aerc/accounts.conf")
        let session = try home.onTerminal(
            [], [("by aerc", ":quit\r")], environment: mail.environment, program: "/usr/bin/aerc")
        #expect(session.text.contains("by aerc") && session.status == 0, "\(session.text.suffix(2_000))")
        ProgramVersion.tell("aerc", mail.environment)
    }

    @Test func `git send-email sends by msmtp`() throws {
        try home.write("defaults\ntls_trust_file \(mail.dovecot.certificate)\n", to: "config/msmtp/config")
        try mail.scene.setUp(["msmtp", "--host", mail.dovecot.submission], mail.environment)
        let patch = try home.write(
            """
            From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
            From: Alice <\(MailScene.user)>
            Date: Sun, 22 Nov 2026 12:00:00 +0000
            Subject: [PATCH] by git

            ---

            """, to: "outside/0001.patch")
        let line = try #require(try lines(of: "git send-email").first)
        #expect(line.hasPrefix("git config --global "))
        try mail.scene.run(["sh", "-c", line], mail.environment)
        try mail.scene.run(
            [
                "git", "-c", "user.name=Alice", "-c", "user.email=\(MailScene.user)", "send-email", "--to",
                "bob@example.com", "--confirm", "never", patch,
            ], mail.environment)
        #expect(mail.dovecot.delivered.contains("Subject: [PATCH] by git"))
    }
}
