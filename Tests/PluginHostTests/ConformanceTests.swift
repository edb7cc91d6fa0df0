import AzureB2CAdapter
import CredentialCore
import CryptoSupport
import DemoProvider
import Foundation
import GenericOAuth2Adapter
import Platform
import PluginHost
import StrictJSON
import TestSupport
import Testing

/// An adapter that the suite is run on.
enum ConformanceSubject: String, CaseIterable, Sendable {
    case azureB2C = "azure-b2c", oauth2, oauthExample = "oauth-example", staticToken = "static-token"
}

/// One suite for all adapters, built in and external: the one that `credmgr adapters test` runs.
@Suite struct ConformanceTests {
    private static let demo = Result {
        let key = try LibCryptography().generateKey(.rs256)
        let provider = try DemoProvider(
            keys: [DemoSigningKey(kid: "k", privateKey: key.privateKey, publicJWK: key.publicJWK)],
            cryptography: LibCryptography(), clock: SystemClock(), random: SystemRandom())
        return (provider: provider, base: try provider.start())
    }

    private static let exampleHome = Result {
        let home = try PluginHome()
        try home.install(example: "oauth-example")
        try home.install(example: "static-token")
        return home
    }

    private func adapter(
        _ subject: ConformanceSubject
    ) throws -> (any CredentialAdapter, AccountType) {
        let base = try Self.demo.get().base + "/exampleb2c.onmicrosoft.com"
        var type = AccountType(
            name: "Test", adapter: subject.rawValue, clientID: "580e250c-8f26-49d0-bee8-1c078add1609")
        switch subject {
        case .azureB2C:
            type.authority = base
            type.policies = ["sign-in": "b2c_1_sign_in"]
            type.defaultPolicy = "sign-in"
            return (AzureB2CAdapter(), type)
        case .oauth2, .oauthExample:
            type.endpoints = [
                .authorization: base + "/b2c_1_sign_in/oauth2/v2.0/authorize",
                .token: base + "/b2c_1_sign_in/oauth2/v2.0/token",
            ]
            if subject == .oauth2 { return (GenericOAuth2Adapter(), type) }
            return (try Self.exampleHome.get().adapter("oauth-example"), type)
        case .staticToken:
            type.adapterSettings = ["site": "forge.example"]
            return (try Self.exampleHome.get().adapter("static-token"), type)
        }
    }

    @Test(arguments: ConformanceSubject.allCases, AdapterConformance.checks.map(\.name))
    func `every adapter keeps to the protocol of adapters`(_ subject: ConformanceSubject, _ name: String) throws {
        let (adapter, type) = try adapter(subject)
        let check = try #require(AdapterConformance.checks.first { $0.name == name })
        let verdict = check.run(AdapterConformance(adapter, type: type, context: World().context)).verdict
        // Only the checks that a plugin without a browser cannot pass may be skipped.
        let isExcused = subject == .staticToken && ["state", "denial"].contains(name)
        #expect(verdict == .passed || isExcused, "\(verdict)")
    }

    @Test(arguments: ["oauth-example", "static-token"], PluginConformance.checks.map(\.name))
    func `every example keeps to the protocol of plugins`(_ name: String, _ check: String) throws {
        let adapter = try Self.exampleHome.get().adapter(name)
        let (_, type) = try self.adapter(try #require(ConformanceSubject(rawValue: name)))
        let found = try #require(PluginConformance.checks.first { $0.name == check })
        let subject = PluginConformance(
            adapter.provider, launcher: try Self.exampleHome.get().catalog().launcher, type: type,
            context: World().context)
        #expect(found.run(subject).verdict == .passed, "\(found.run(subject).verdict)")
    }

    @Test func `a plugin that only knows how to say hello fails nearly every check`() throws {
        let home = try PluginHome()
        var plugin = CannedPlugin(begin: "hello", before: "printf '%s' \"$request\" >&2")
        plugin.replies[""] = #"{"version":1,"reply":"done"}"#
        try home.install(plugin)
        let provider = try #require(try home.catalog().provider(named: "canned"))
        let results = PluginConformance(
            provider, launcher: home.catalog().launcher, type: .canned(),
            context: World().context
        ).run()
        let passed = results.filter { $0.verdict == .passed }.map(\.name)
        #expect(Set(passed) == ["describe", "unknown-members"])
        let external = try home.adapter("canned")
        let seen = AdapterConformance(external, type: .canned(), context: World().context).run()
        #expect(seen.first { $0.name == "begin" }?.verdict != .passed)
    }
}
