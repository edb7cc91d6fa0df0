import CredentialCore
import DemoProvider
import StrictJSON
import TestSupport
import Testing

/// A `login` that waits: its messages, and each way its redirect may come.
@Suite struct `A sign-in that waits` {
    private let home: Home

    init() throws { home = try Home(["CREDMGR_STORE": "file"]) }

    private func tenant(_ redirectURI: String = "http://localhost") throws -> DemoTenant {
        let tenant = try DemoTenant { $0.codeSize = 6_000 }
        try tenant.definePolicies(at: home, ["redirect_uri": .string(redirectURI)])
        return tenant
    }

    /// A user at a terminal: reads the address, signs in on another machine, and pastes the address that the
    /// browser ends at.
    private func paste(before: String = "", _ variables: [String: String] = [:]) throws -> TerminalSession {
        let tenant = try tenant()
        _ = try Browser(in: home)
        let robot = try #require(home.text(of: "outside/browser")).replacingOccurrences(of: " --deliver", with: "")
        try home.write(robot, to: "outside/robot", mode: 0o700)
        let session = try home.onTerminal(
            ["login", "--type", "Tasks", "--no-browser"],
            [("You can paste", before), ("left.", "\u{1}RUN \(home.path)/outside/robot \(tenant.base)\n")],
            columns: 300, environment: variables)
        return session
    }

    @Test func `A pasted address of any length ends it, and the shell gets nothing`() throws {
        let done = try paste(before: "rm -rf nothing\n\n")
        #expect(done.status == 0, "\(done.text)")
        #expect(done.output.hasSuffix("\talice@example.com\n"))
        #expect(done.left.isEmpty)
        #expect(done.text.contains("That is not the redirect URL of this sign-in"))
        #expect(done.text.contains("for 300 s"))
        #expect(!done.text.contains("code="), "what is pasted is not shown")
    }

    @Test func `Ctrl-C ends it with the terminal as it was`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        let ended = try home.onTerminal(
            ["login", "--type", "Tasks", "--no-browser"], [("You can paste the redirect URL here", "abc\u{3}")])
        #expect(ended.status == -2 || ended.status == 130)
        #expect(ended.left.isEmpty)
        // No redirect came: the message gives possible reasons now.
        #expect(ended.text.contains("Does the page show an error? Register http://localhost for client"))
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `Without a browser it says how one on another machine reaches it`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        let words = ["login", "--type", "Tasks", "--no-browser", "--timeout", "1"]
        let said = try home.run(words, exits: 6).standardError
        let port = try #require(
            said.split(separator: "redirect_uri=http%3A%2F%2Flocalhost%3A").last?.prefix { $0.isNumber })
        #expect(said.contains("ssh -N -L \(port):127.0.0.1:\(port) ") && said.contains("for 1 s"))
        let remote = try home.run(
            words, environment: ["SSH_CONNECTION": "192.0.2.1 50000 192.0.2.9 2222", "USER": "ada"], exits: 6)
        #expect(remote.standardError.contains("-p 2222 ada@192.0.2.9\n"))
        #expect(!remote.standardError.contains("You can paste"))
    }

    @Test func `Over SSH without a display another device signs in, if the provider supports it`() throws {
        let provider = try ScriptedProvider()
        try home.run(["types", "add", "Far", "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
        let ssh = ["SSH_CONNECTION": "192.0.2.1 50000 192.0.2.9 22"]
        let done = try home.run(["login", "--type", "Far"], environment: ssh)
        #expect(done.standardError.contains("enter the code"))
        // A provider that has no device flow: the address, and the way to reach this machine.
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        let code = try home.run(["login", "--type", "Tasks", "--timeout", "1"], environment: ssh, exits: 6)
        #expect(code.standardError.contains("ssh -N -L ") && !code.standardError.contains("cannot start the"))
    }

    @Test func `The out-of-band redirect of the seeds is replaced by localhost, if that is registered`() throws {
        let tenant = try tenant("urn:ietf:wg:oauth:2.0:oob")
        let browser = try Browser(in: home)
        let done = try home.run(["login", "--type", "Tasks"], environment: browser.environment)
        #expect(done.line.hasSuffix("\talice@example.com"))
        #expect(browser.receivedAddress.contains("redirect_uri=http%3A%2F%2Flocalhost%3A"))
        let own = "redirect_uri=urn%3Aietf%3Awg%3Aoauth%3A2.0%3Aoob"
        #expect(try home.run(["login", "--type", "Tasks", "--print-url"]).line.contains(own))
        #expect(try home.run(["types", "show", "Tasks"]).standardOutput.contains("urn:ietf:wg:oauth:2.0:oob"))
        #expect(tenant.provider.counters.tokenRequests == 1)
    }

    @Test func `Without localhost among the redirect URIs the address is requested`() throws {
        let tenant = try DemoTenant(redirectURIs: ["urn:ietf:wg:oauth:2.0:oob"])
        try tenant.definePolicies(at: home)
        let browser = try Browser(in: home)
        _ = try home.run(["login", "--type", "Tasks"], environment: browser.environment, exits: 4)
        #expect(browser.receivedAddress.contains("redirect_uri=urn%3Aietf"))
    }
}
