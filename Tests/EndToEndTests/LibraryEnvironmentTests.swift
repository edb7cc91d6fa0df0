import Foundation
import Platform
import TestSupport
import Testing

/// Variables that make libraries write down or show secrets.
@Suite struct `Settings of libraries` {
    /// A library that writes down the environment which the program ends with.
    private static let probe = #"""
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        extern char **environ;
        void _exit(int status) {
            int file = open(getenv("PROBE_FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            for (char **entry = environ; *entry; entry++) {
                (void)!write(file, *entry, strlen(*entry));
                (void)!write(file, "\n", 1);
            }
            for (;;) syscall(SYS_exit_group, status);
        }
        """#

    private func environment(of words: [String], _ given: [String: String], _ home: Home) throws -> Set<String> {
        let source = try home.write(Self.probe, to: "tmp/probe.c")
        let library = home.path + "/probe.so", file = home.path + "/environment"
        let built = try ChildProcess(
            "cc", ["-shared", "-fPIC", "-o", library, source], environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        try #require(built.exitStatus == 0, "\(built.standardError)")
        try home.run(words, environment: given.merging(["LD_PRELOAD": library, "PROBE_FILE": file]) { $1 })
        let lines = try #require(home.text(of: "environment")).split(separator: "\n")
        return Set(lines.map { String($0.prefix { $0 != "=" }) })
    }

    @Test func `Variables that could reveal a secret reach no library, and the user's settings stay`() throws {
        let home = try Home()
        let wanted = ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "https_proxy", "NO_PROXY", "OPENSSL_CONF", "LD_PRELOAD"]
        var given: [String: String] = [:]
        for name in LibraryEnvironment.dropped + wanted { given[name] = home.path + "/none" }
        let left = try environment(of: ["accounts"], given, home)
        #expect(LibraryEnvironment.dropped.count >= 13)
        for name in LibraryEnvironment.dropped { #expect(!left.contains(name), "\(name)") }
        for name in wanted { #expect(left.contains(name), "\(name)") }
        // A program that is run for the user gets all of its environment.
        let tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let child = try home.run(
            ["exec", "--", "/bin/sh", "-c", "echo $SSLKEYLOGFILE $G_MESSAGES_DEBUG"],
            environment: ["SSLKEYLOGFILE": "/nowhere", "G_MESSAGES_DEBUG": "mine"])
        #expect(child.standardOutput == "/nowhere mine\n")
    }

    @Test func `The keys of a TLS connection are written nowhere`() throws {
        let home = try Home()
        let key = home.path + "/key.pem", certificate = home.path + "/certificate.pem"
        let made = try ChildProcess(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).run(seconds: 60)
        try #require(made.exitStatus == 0, "\(made.standardError)")
        let reply = try home.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", to: "tmp/reply")
        let servers = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let server = try ChildProcess(
            servers.appendingPathComponent("Servers/scripted-http").path, ["--tls", certificate, key, reply],
            environment: ["PATH": "/usr/bin:/bin"]
        ).start(input: .pipe)
        defer { server.kill() }
        let port = try #require(try server.line())
        let log = home.path + "/keys"
        let variables = ["SSLKEYLOGFILE": log, "CURL_CA_BUNDLE": certificate]
        // The behaviour of any other program.
        _ = try ChildProcess(
            "curl", ["-s", "--cacert", certificate, "https://127.0.0.1:\(port)/"],
            environment: variables.merging(["PATH": "/usr/bin:/bin"]) { $1 }
        ).run()
        try #require(FileManager.default.fileExists(atPath: log))
        try FileManager.default.removeItem(atPath: log)
        let refused = try home.run(
            ["types", "add", "Work", "--issuer", "https://127.0.0.1:\(port)", "--client-id", "app"],
            environment: variables, exits: 2)
        #expect(refused.standardError.contains("404"))
        #expect(!FileManager.default.fileExists(atPath: log))
    }

    @Test(
        .needs(.keyring)
    )
    func `GLib puts nothing beside the token, and libsecret stays with the keyring`() throws {
        let keyring = try PrivateKeyring(.gnomeKeyring)
        let home = try Home(["DBUS_SESSION_BUS_ADDRESS": keyring.busAddress]), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let token = try home.run(["token"]).line
        let loud = try home.run(
            ["token"],
            environment: [
                "G_MESSAGES_DEBUG": "all", "G_DBUS_DEBUG": "all", "SECRET_BACKEND": "file",
                "SECRET_SERVICE_BUS_NAME": "org.example.Nobody",
            ])
        #expect(loud.standardOutput == token + "\n")
    }
}
