import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `No secret shows` {
    private static let clientSecret = "canary-client-secret-7Qm2"
    private static let passphrase = "canary passphrase of the store 9Zk4"
    private static let password = "canary-password-3Vx8"

    /// A secret in plain form, and as base64 would hide it at each offset.
    private func disguises(of secret: String) -> [(kind: String, bytes: Data)] {
        var forms = [("plain", Data(secret.utf8))]
        for shift in 0..<3 {
            let padded = Data(repeating: 0x20, count: shift) + Data(secret.utf8)
            // The first and the last digits depend on the bytes beside the secret.
            let text = padded.base64EncodedString().dropFirst(shift == 0 ? 0 : 4).prefix { $0 != "=" }.dropLast(2)
            forms.append(("base64", Data(text.utf8)))
            let web = text.replacing("+", with: "-").replacing("/", with: "_")
            forms.append(("base64url", Data(web.utf8)))
        }
        return forms
    }

    private func expect(_ place: String, _ content: Data, lacks secrets: [String: String]) {
        for (name, secret) in secrets {
            for form in disguises(of: secret) where content.range(of: form.bytes) != nil {
                Issue.record("\(name) stands in \(place), as \(form.kind)")
            }
        }
    }

    @Test(arguments: 0..<4)
    func `The search finds a secret in every disguise`(offset: Int) {
        let secret = "canary-3Vx8?>~-of-a-token", around = String(repeating: "x", count: offset)
        let hidden = Data((around + secret + "tail").utf8).base64EncodedString()
        let web = hidden.replacing("+", with: "-").replacing("/", with: "_")
        for text in [around + secret, "a\(hidden)b", "{\(web)}"] {
            #expect(disguises(of: secret).contains { Data(text.utf8).range(of: $0.bytes) != nil }, "\(text)")
        }
    }

    @Test(arguments: ["key file", "passphrase", "keyring"])
    func `A whole session leaves none in a file, on a stream or with a child`(store: String) throws {
        let keyring = store == "keyring" ? try PrivateKeyring() : nil
        defer { keyring?.stop() }
        var variables = keyring.map { ["DBUS_SESSION_BUS_ADDRESS": $0.busAddress] } ?? [:]
        // A directory of its own, for the user's own files.
        let elsewhere = try Home()
        if store == "passphrase" {
            variables["CREDMGR_PASSPHRASE_FILE"] = try elsewhere.write(Self.passphrase + "\n", to: "passphrase")
            variables["CREDMGR_PASSPHRASE_COMMAND"] = "echo \(Self.passphrase)"
        }
        let home = try Home(variables)
        let user = DemoUser(
            email: "carol@example.com", password: Secret(Self.password),
            objectID: "c0c0c0c0-0e2f-4a68-9c5d-7b8e9f0a1b2c", name: "Carol Example")
        let tenant = try DemoTenant(users: [user], clientSecret: Self.clientSecret)
        var secrets = [
            "the client secret": Self.clientSecret, "the passphrase": Self.passphrase,
            "the password": Self.password,
        ]
        var results = ""

        // Sign-in: the two halves, the browser, the password.
        var settings = AppSettings(base: tenant.base, redirectURI: "http://localhost")
        try tenant.define(at: home, settings: settings)
        let browser = try Browser(in: home, user)
        try home.run(["login", "-v", "--type", DemoTenant.typeName], environment: browser.environment)
        expect("the browser's environment", Data(browser.receivedEnvironment.utf8), lacks: secrets)
        settings = AppSettings(base: tenant.base)
        try tenant.define("Halves", at: home, settings: settings)
        let url = try home.run(["login", "-v", "--type", "Halves", "--print-url"]).line
        let redirect = try tenant.redirect(from: url, user: user)
        try home.run(["login", "-v", "--complete", "-", "--show-claims"], input: redirect + "\n")
        try home.run([
            "types", "add", "Ropc", "--adapter", "azure-b2c", "--authority", tenant.base, "--tenant",
            DemoTenant.tenant, "--policy", "in=B2C_1_ropc", "--default-policy", "in", "--client-id",
            DemoTenant.clientID, "--scope", "openid \(DemoTenant.clientID) offline_access", "--flow", "password",
        ])
        try home.run(
            ["login", "-v", "--type", "Ropc", "--username", user.email, "--password-file", "-"],
            input: Self.password + "\n")

        // A confidential client, its secret in the store and from a command.
        let machine = [
            "--adapter", "azure-b2c", "--authority", tenant.base, "--tenant", DemoTenant.tenant, "--policy",
            "in=b2c_1_sign_in", "--default-policy", "in", "--client-id", DemoTenant.confidentialID, "--flow",
            "client_credentials", "--scope", "https://exampleb2c.onmicrosoft.com/tasks/.default",
        ]
        try home.run(
            ["types", "add", "Machine"] + machine + ["--client-secret-file", "-"], input: Self.clientSecret)
        try home.run(["login", "-v", "--type", "Machine"])
        let command = try home.write(
            """
            #!/bin/sh
            env -0 > '\(home.path)/outside/command.environment'
            cat '\(elsewhere.path)/secret'

            """, to: "outside/command", mode: 0o700)
        try elsewhere.write(Self.clientSecret, to: "secret")
        let named = try home.json(["types", "show", "Machine", "--json"]).object
        var definition = JSONObject()
        for (key, value) in named?.members ?? [] where key != "name" && key != "path" { definition[key] = value }
        definition["client_secret"] = ["command": [.string(command)]]
        try home.write(JSONValue.object(definition).text(), to: "config/credmgr/types/Command.json")
        results += try home.run(["token", "-v", "--type", "Command", "--force-refresh"]).standardOutput
        let commandEnvironment = try #require(home.text(of: "outside/command.environment"))
        expect("the command's environment", Data(commandEnvironment.utf8), lacks: secrets)

        // Tokens, calls, failures, sign-out.
        let account = ["--type", DemoTenant.typeName]
        for format in ["token", "json", "header", "env"] {
            results += try home.run(["token", "-v", "--format", format] + account).standardOutput
        }
        results += try home.run(["token", "-v", "--force-refresh"] + account).standardOutput
        results += try home.run(["token", "-v", "--id-token"] + account).standardOutput
        try home.run(["request", "-v", "POST", "/tasks", "--form", "task=milk", "-i"] + account)
        try home.run(["request", "-v", "GET", "/nothing"] + account, exits: 8)
        tenant.provider.expireTokens()
        try home.run(["request", "-v", "GET", "/tasks"] + account)
        for reply in [#"{"error":"invalid_request"}"#, "hello", #"{"access_token":7}"#] {
            tenant.provider.change { $0.tokenReply = reply }
            _ = try ChildProcess(
                Home.program, ["token", "-v", "--force-refresh"] + account, environment: home.environment
            )
            .run()
        }
        tenant.provider.change { $0.tokenReply = "" }
        tenant.provider.change { $0.idTokenFault = .signature }
        try home.run(["token", "-v", "--force-refresh"] + account, exits: 7)
        tenant.provider.change { $0.idTokenFault = .none }
        try home.run(["login", "-v", "--complete", redirect], exits: 7)
        for words in [
            ["accounts", "--json"], ["store", "status"], ["types", "show", "Machine"], ["which"] + account,
        ] {
            try home.run(words + ["-v"])
        }
        try home.run(["claims", "-v"] + account)

        for (number, secret) in tenant.provider.secrets.sorted().enumerated() {
            secrets["secret \(number)"] = secret
        }
        #expect(secrets.count > 15)
        var printed = home.printed
        for line in results.split(separator: "\n") { printed = printed.replacing(line, with: "") }
        expect("what was printed", Data(printed.utf8), lacks: secrets)
        for (name, content) in home.files where name != "outside/password" && name != "outside/browser" {
            expect(name, content, lacks: secrets)
        }
        try home.run(["logout", "-v", "--all", "--yes"])
        for (name, content) in home.files where name != "outside/password" { expect(name, content, lacks: secrets) }
        expect("what was printed", Data(home.printed.suffix(4_000).utf8), lacks: secrets)
        if store == "passphrase" { try home.run(["store", "lock"]) }
    }

    @Test func `A running sign-in shows none to others, and a crash of it neither`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        var command = home.command(["login", "--type", DemoTenant.typeName, "--no-browser"])
        command.directory = home.path
        let process = try command.start(input: .pipe)
        try process.wait(for: "standard input")
        let pid = process.id
        let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
        let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        #expect(core?.split(separator: " ").dropFirst(4).first == "0")
        // Not dumpable: the files of the process belong to root, even if a user runs it.
        let owner = try FileManager.default.attributesOfItem(atPath: "/proc/\(pid)/environ")[.ownerAccountID]
        #expect((owner as? NSNumber)?.intValue == 0)
        process.send(SIGSEGV)
        let outcome = try process.outcome()
        #expect(outcome.signal == SIGSEGV)
        // No line follows the line that was waited for.
        let lines = outcome.standardError.split(separator: "\n")
        #expect(lines.last?.contains("standard input") == true, "\(outcome.standardError)")
        #expect(outcome.standardOutput.isEmpty)
        #expect(!home.files.keys.contains { $0.contains("core") })
        // credmgr leaves no file behind that breaks the next sign-in.
        try tenant.signIn(at: home)
    }
}
