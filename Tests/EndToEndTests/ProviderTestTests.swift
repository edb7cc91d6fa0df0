import Foundation
import StrictJSON
import TestSupport
import Testing

/// `credmgr adapters test`: the output for an author of an adapter.
@Suite struct `The conformance suite` {
    private let home: Home

    init() throws { home = try Home(["CREDMGR_STORE": "file"]) }

    /// The results by the names of the checks; of the two parts for plugins no name is in both.
    private func results(_ words: [String], exits status: Int32 = 0) throws -> [String: String] {
        let outcome = try home.run(["adapters", "test"] + words + ["--json"], exits: status)
        let checks = try JSONValue.parse(Array(outcome.standardOutput.utf8)).array?.compactMap(\.object) ?? []
        return Dictionary(
            uniqueKeysWithValues: checks.map { ($0["check"]?.string ?? "", $0["result"]?.string ?? "") })
    }

    @Test func `The built-in adapters pass every check at a provider that answers`() throws {
        let tenant = try DemoTenant(), provider = try ScriptedProvider()
        try tenant.define(at: home)
        try home.run([
            "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api",
        ])
        for (adapter, type) in [("azure-b2c", DemoTenant.typeName), ("oauth2", "Work")] {
            let results = try results([adapter, "--type", type])
            #expect(results.count == 10 && results.values.allSatisfy { $0 == "passed" }, "\(adapter): \(results)")
        }
        #expect(try home.json(["accounts", "--json"]) == [])
        // They need a type of theirs.
        try home.run(["adapters", "test", "oauth2"], exits: 2)
        try home.run(["adapters", "test", "oauth2", "--type", DemoTenant.typeName], exits: 2)
    }

    @Test func `Checks that need a provider are skipped without one, which is no failure`() throws {
        let provider = try ScriptedProvider { $0.discovery = .text(503, "later") }
        try home.run([
            "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api",
        ])
        let results = try results(["oauth2", "--type", "Work"])
        #expect(results["begin"] == "skipped" && results["state"] == "skipped" && results["denial"] == "skipped")
        #expect(results["definition"] == "passed" && !results.values.contains("FAILED"))
        let text = try home.run(["adapters", "test", "oauth2", "--type", "Work"]).standardOutput
        #expect(text.contains("skipped  a redirect with another state is refused (begin fails: "))
    }

    @Test(arguments: [("oauth-example", [], []), ("static-token", ["site=forge.example"], ["state", "denial"])])
    func `The examples pass with a type made up for them`(
        name: String, settings: [String], skipped: [String]
    ) throws {
        try home.install(example: name)
        let results = try results([name] + settings.flatMap { ["--set", $0] })
        #expect(results.count == 18)
        for (check, result) in results {
            #expect(result == (skipped.contains(check) ? "skipped" : "passed"), "\(check)")
        }
        #expect(try home.json(["types", "--json"]) == [])
    }

    @Test func `A broken plugin fails check by check, with exit 1`() throws {
        try home.install(plugin: "echo \"$request\" >&2; exit 3")
        // The findings are the result, failures too.
        let text = try ChildProcess(Home.program, ["adapters", "test", "canned"], environment: home.environment)
            .run()
        #expect(text.exitStatus == 1)
        #expect(text.standardOutput.contains("FAILED   an unknown operation is answered with unsupported ("))
        #expect(text.standardOutput.contains("passed   'describe' tells what the manifest tells"))
        #expect(text.standardError.contains("the adapter canned fails "))
        #expect(text.standardError.contains("plugin-protocol.md"))
        #expect(!(text.standardOutput + text.standardError).contains("canary"))
        try home.run(["adapters", "test", "nobody"], exits: 2)
        // One that must not be used is not run, either.
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o777], ofItemAtPath: home.path + "/data/credmgr/providers/canned/run")
        try home.run(["adapters", "test", "canned"], exits: 2)
    }

    @Test func `A plugin that hangs is given up on at the time allowed`() throws {
        try home.install(plugin: "exec sleep 120")
        let start = ContinuousClock.now
        let error = try home.run(["login", "--type", "Canned", "--timeout", "1"], exits: 6).standardError
        #expect(error.contains("within 1 s"))
        #expect(ContinuousClock.now - start < .seconds(60))
        #expect(try home.json(["accounts", "--json"]) == [])
    }
}
