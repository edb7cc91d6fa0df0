import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// A new user's first hour with the real program: a page that shows an error, a clock that is wrong, a bus that has
/// gone, an installation for oneself alone.
@Suite struct `The first hour with the program` {
    private let home: Home

    init() throws { home = try Home(["CREDMGR_STORE": "file"]) }

    private func define(at provider: ScriptedProvider) throws {
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "tool", "--scope", "api"])
    }

    /// A browser that shows a page, and no user who goes on from there.
    private let idle = ["BROWSER": "/bin/true"]
    private let reason = "Does the page show an error? Register http://127.0.0.1 for client tool at the provider."

    // MARK: A page that shows an error

    @Test(arguments: [400, 404])
    func `An endpoint that refuses the request brings the reasons at once`(status: Int) throws {
        let provider = try ScriptedProvider { $0.authorization = .text(status, "redirect_uri is not registered") }
        try define(at: provider)
        let login = ["login", "--type", "Work", "--timeout", "5"]
        let said = try home.run(login, environment: idle, exits: 6).standardError
        #expect(said.contains(reason) && said.contains("credmgr types show Work"), "\(said)")
        #expect(provider.forms.count { $0["response_type"] == "code" } == 1)
        // Without a browser credmgr asks no question.
        let without = try home.run(login + ["--no-browser"], exits: 6).standardError
        #expect(!without.contains(reason))
        #expect(provider.forms.count { $0["response_type"] == "code" } == 1)
    }

    @Test func `An endpoint that takes the request brings none so early, and its code is dropped`() throws {
        let provider = try ScriptedProvider()
        try define(at: provider)
        let said = try home.run(
            ["login", "--type", "Work", "--timeout", "5"], environment: idle, exits: 6
        ).standardError
        #expect(!said.contains(reason))
        #expect(provider.forms.count { $0["response_type"] == "code" } == 1)
        #expect(!provider.paths.contains("/token"))
    }

    @Test func `After 15 seconds, or when it is interrupted, the reasons are told in any case`() throws {
        let provider = try ScriptedProvider { $0.authorization = .text(200, "sign in here") }
        try define(at: provider)
        let waiting = try home.start(["login", "--type", "Work", "--timeout", "17"], idle)
        let interrupted = try home.start(["login", "--type", "Work", "--timeout", "60"], idle)
        try interrupted.wait(for: "/authorize?", within: 30)
        interrupted.send(SIGINT)
        let ended = try interrupted.outcome(within: 30)
        #expect(ended.signal == SIGINT, "\(ended)")
        #expect(ended.standardError.contains(reason), "\(ended.standardError)")
        let late = try waiting.outcome(within: 60)
        #expect(late.exitStatus == 6 && late.standardError.components(separatedBy: reason).count == 2)
    }

    // MARK: A browser that comes later

    /// A browser that the provider sends straight on.
    private func following() throws -> [String: String] {
        ["BROWSER": try home.write("#!/bin/sh\nexec curl -sL \"$1\"\n", to: "outside/following", mode: 0o700)]
    }

    /// The page at an address; the process that answers there begins within 30 s.
    private func page(at address: String) throws -> String {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do throws(CredentialError) {
                return String(decoding: try LoopbackClient().send("GET", address).body, as: UTF8.self)
            } catch {
                guard error.code == .temporary, ContinuousClock.now < deadline else { throw error }
                usleep(10_000)
            }
        }
    }

    /// Waits until a sign-in has started the process that answers after it, 30 s at most.
    private func waitForAftermath(of login: RunningProcess) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(name) != nil {
                let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
                let status = (try? String(contentsOfFile: "/proc/\(name)/status", encoding: .utf8)) ?? ""
                if words.range(of: Data("__redirect-aftermath".utf8)) != nil,
                    status.contains("PPid:\t\(login.id)\n")
                {
                    return
                }
            }
            usleep(10_000)
        }
        Issue.record("no process was started to answer afterwards within 30 s")
    }

    /// The value of a parameter of the address that was shown.
    private func parameter(_ name: String, of said: String) throws -> String {
        let address = try #require(said.split(whereSeparator: \.isWhitespace).first { $0.contains("/authorize?") })
        let items = URLComponents(string: String(address))?.queryItems
        return try #require(items?.first { $0.name == name }?.value)
    }

    @Test func `A page that is loaded again after the sign-in shows its outcome again`() throws {
        let provider = try ScriptedProvider()
        try define(at: provider)
        let said = try home.run(["login", "--type", "Work"], environment: try following()).standardError
        let place = try parameter("redirect_uri", of: said), state = try parameter("state", of: said)
        for _ in 0..<2 {
            let page = try page(at: "\(place)/?code=c-1&state=\(state)")
            #expect(page.contains("<h1>credmgr: ada@example.test is signed in to Work</h1>"), "\(page)")
        }
        // It gives no name to a page of another host, nor to one that is not a user's.
        #expect(!(try page(at: place.replacing("127.0.0.1", with: "localhost") + "/?a=b").contains("ada")))
        #expect(provider.paths.count { $0 == "/token" } == 1)
    }

    @Test func `An answer that comes after an interruption is told that the sign-in was cancelled`() throws {
        let provider = try ScriptedProvider { $0.authorization = .text(200, "sign in here") }
        try define(at: provider)
        let login = try home.start(["login", "--type", "Work", "--timeout", "60"], idle)
        let said = try login.wait(for: "/authorize?", within: 30)
        // Before it waits for the browser it has no request to answer.
        try waitForAftermath(of: login)
        login.send(SIGINT)
        #expect(try login.outcome(within: 30).signal == SIGINT)
        let place = try parameter("redirect_uri", of: said), state = try parameter("state", of: said)
        let page = try page(at: "\(place)/?code=c-1&state=\(state)")
        #expect(page.contains("<h1>credmgr: this sign-in was cancelled</h1>"), "\(page)")
        #expect(!provider.paths.contains("/token"))
    }

    @Test func `A port that the type names is free at once`() throws {
        let provider = try ScriptedProvider()
        let port = try LoopbackServer(at: .ipv4) { _ in .text(200, "") }.port
        try home.run([
            "types", "add", "Work", "--issuer", provider.base, "--client-id", "tool", "--scope", "api",
            "--redirect-uri", "http://127.0.0.1:\(port)/cb",
        ])
        for _ in 0..<2 { try home.run(["login", "--type", "Work"], environment: try following()) }
    }

    // MARK: A clock

    @Test func `A clock that is wrong is told of, also if the sign-in succeeds`() throws {
        let provider = try ScriptedProvider()
        provider.change {
            $0.token.headers.append(("Date", "Tue, 14 Nov 2023 22:13:20 GMT"))
            $0.userInfo.headers.append(("Date", "Tue, 14 Nov 2023 22:13:20 GMT"))
        }
        try define(at: provider)
        let said = try provider.signIn(at: home).standardError
        #expect(said.contains("warning: this machine's clock is probably wrong: it is "), "\(said)")
        #expect(said.contains("ahead of that of \(provider.base)"))
        provider.change { $0.token = .json(400, ["error": "invalid_grant"]) }
        #expect(!(try provider.signIn(at: home, exits: 4).standardError.contains("clock")))
    }

    // MARK: An installation for oneself alone

    /// `scripts/setup` in a checkout whose build takes no time.
    private func setUp(_ words: [String]) throws -> ChildProcess.Outcome {
        let own = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/setup")
        let folder = home.path + "/outside/checkout/scripts"
        try home.write(
            try String(contentsOf: own, encoding: .utf8), to: "outside/checkout/scripts/setup", mode: 0o700)
        try home.write("#!/bin/sh\n", to: "outside/checkout/scripts/install-packages", mode: 0o700)
        try home.write("#!/bin/sh\necho '\(Home.program)'\n", to: "outside/checkout/scripts/build", mode: 0o700)
        try home.write(
            """
            #!/bin/sh
            for file in bin/credmgr libexec/credmgr/credmgr share/man/man1/credmgr.1; do
                install -D -m 755 "$1" "$2/$file"
                echo "$file"
            done

            """, to: "outside/checkout/scripts/stage", mode: 0o700)
        return try ChildProcess(folder + "/setup", words, environment: home.environment).run()
    }

    @Test func `Installed below a home, a fresh account has nothing wrong, and nothing of it is left afterwards`()
        throws
    {
        let prefix = home.path + "/home/.local"
        // The user's data directory is at its default place.
        let variables = ["HOME": home.path + "/home", "XDG_DATA_HOME": ""]
        // A list that an earlier version left.
        try home.write("bin/credmgr\n", to: "home/.local/share/credmgr/installed", mode: 0o644)
        let installed = try setUp(["install", prefix])
        #expect(installed.exitStatus == 0, "\(installed.standardError)")
        let doctor = try home.run(["doctor"], environment: variables)
        #expect(!doctor.standardOutput.contains("PROBLEM"), "\(doctor.standardOutput)")
        #expect(doctor.standardOutput.contains("scripts/setup install /usr/local, or the package"))
        #expect(!FileManager.default.fileExists(atPath: prefix + "/share/credmgr/installed"))
        let removed = try setUp(["uninstall", prefix])
        #expect(removed.exitStatus == 0, "\(removed.standardError)")
        let left = FileManager.default.enumerator(atPath: prefix)?.compactMap { $0 as? String } ?? []
        #expect(left.allSatisfy { !$0.contains("installed") && !$0.hasSuffix("/credmgr") }, "\(left)")
    }
}
