import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The messages while an operation takes long, and the steps that `--verbose` reports.
@Suite struct `While it takes long` {
    private let home: Home
    private let tenant: DemoTenant
    private let account: String

    init() throws {
        home = try Home(["CREDMGR_STORE": "file"])
        tenant = try DemoTenant()
        account = try tenant.signIn(at: home)
    }

    private let refresh = ["token", "--type", DemoTenant.typeName, "--force-refresh"]

    private func slow() { tenant.provider.change { $0.replyMilliseconds = 5_000 } }

    @Test func `A terminal shows the server that is awaited, and is cleared`() throws {
        slow()
        let session = try home.onTerminal(refresh)
        #expect(session.status == 0)
        #expect(session.text.contains(" Waiting for localhost, "))
        #expect(session.text.hasSuffix("\r\u{1B}[K"))
        #expect(session.output.split(separator: "\n").count == 1)
    }

    @Test(arguments: [["CREDMGR_ACCESSIBLE": "1"], ["TERM": "dumb"]])
    func `On a terminal without repainting, it is a line that stays`(environment: [String: String]) throws {
        slow()
        let session = try home.onTerminal(refresh, environment: environment)
        #expect(session.status == 0)
        #expect(session.text == "Waiting for localhost\r\n")
    }

    @Test func `A narrow terminal is not overrun`() throws {
        slow()
        let session = try home.onTerminal(refresh, columns: 20)
        #expect(session.text.contains(" Waiting for local"))
        #expect(session.text.components(separatedBy: "\r\u{1B}[K").allSatisfy { $0.count < 20 })
    }

    @Test func `No other output shows it: no pipe, and no call with --quiet`() throws {
        slow()
        #expect(try home.run(refresh).standardError.isEmpty)
        #expect(try home.onTerminal(refresh + ["--quiet"]).text.isEmpty)
    }

    @Test func `A lock that another process has is named`() throws {
        try home.run(refresh)
        let lock = try #require(home.files.keys.first { $0.hasSuffix(".lock") && $0.contains(account) })
        let holder = try ChildProcess(
            "flock", [home.path + "/" + lock, "sh", "-c", "echo held; cat"], environment: ["PATH": "/usr/bin:/bin"]
        ).start(input: .pipe)
        defer { holder.kill() }
        #expect(try holder.line() == "held")
        let session = try home.onTerminal(refresh + ["--timeout", "4"])
        #expect(session.status == 6)
        #expect(session.text.contains(" the account's lock") && session.text.contains(" Waiting for "))
    }

    // MARK: -v

    @Test func `Each request is shown, and nothing secret of it`() throws {
        let port = try #require(URL(string: tenant.base)?.port)
        let said = try home.run(refresh + ["-v"]).standardError
        let line = try #require(said.split(separator: "\n").first { $0.contains("note: POST localhost:\(port)/") })
        #expect(line.contains("/token: 200 in ") && line.contains(" ms"))
        #expect(!line.contains("?"))
        let asked = try home.run(["request", "GET", "/tasks", "--query", "q=hidden-from-logs", "-v"]).standardError
        #expect(asked.contains("note: GET localhost:\(port)/tasks: 200 in "))
        #expect(!asked.contains("hidden-from-logs"))
        #expect(try home.run(["request", "GET", "/tasks"]).standardError.isEmpty)
    }

    @Test func `A request without a reply is shown, too`() throws {
        tenant.provider.stop()
        let said = try home.run(refresh + ["--verbose"], exits: 6).standardError
        #expect(said.contains("/token: no reply in "))
    }

    @Test func `The request's number at the provider is shown`() throws {
        tenant.provider.change {
            $0.failures = 10
            $0.failureStatus = 503
        }
        let said = try home.run(refresh + ["--verbose"], exits: 6).standardError
        #expect(said.contains("/token: 503 in "))
    }
}
