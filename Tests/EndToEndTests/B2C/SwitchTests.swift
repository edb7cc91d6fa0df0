import CredentialCore
import DemoProvider
import Foundation
import Platform
import StrictJSON
import TestSupport
import Testing

/// Every way in which the demo provider can behave, as the program meets it.
@Suite struct `Switches of the demo provider` {
    /// One switch, and the result that it must have.
    struct Turn: Sendable, CustomTestStringConvertible {
        let name: String
        let value: JSONValue
        let check: @Sendable (Home, DemoTenant) throws -> Void

        init(_ name: String, _ value: JSONValue, _ check: @escaping @Sendable (Home, DemoTenant) throws -> Void) {
            (self.name, self.value, self.check) = (name, value, check)
        }

        var testDescription: String { "\(name) = \(value.text())" }
    }

    @Test(arguments: turns) func `Each switch is turned`(turn: Turn) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        #expect(tenant.provider.turn(turn.name, turn.value))
        try turn.check(home, tenant)
    }

    @Test func `No switch is forgotten, and no value of it`() {
        let members = DemoSwitches().json.object?.members ?? []
        #expect(Set(Self.turns.map(\.name)) == Set(members.map(\.name)))
        var wanted: [String: [JSONValue]] = [
            "issuer_form": ["guid", "tfp", .string(Self.customIssuer)],
            "rotation": JSONValue(DemoSwitches.Rotation.allCases.map(\.rawValue)).array ?? [],
            "state_form": JSONValue(DemoSwitches.StateForm.allCases.map(\.rawValue)).array ?? [],
            "id_token_fault": JSONValue(DemoSwitches.IDTokenFault.allCases.map(\.rawValue)).array ?? [],
            "failure_status": [429, 500, 503],
        ]
        for (name, value) in members where value.bool != nil { wanted[name] = [true, false] }
        for (name, values) in wanted {
            let turned = Self.turns.filter { $0.name == name }.map(\.value)
            for value in values { #expect(turned.contains(value), "\(name) = \(value.text())") }
        }
    }

    static let turns: [Turn] = replies + tokens + faults + codes + lifetimes + keys + trouble + healthy

    private static let tenantID = "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"
    private static let customIssuer = "https://login.elsewhere.example/\(tenantID)/v2.0/"

    /// The other values of switches with two: the behaviour of a current tenant.
    private static let healthy: [Turn] = [
        "numbers_as_strings", "refuses_policy_in_body", "codes_are_single_use", "requires_pkce", "unknown_kid",
        "keys_have_algorithm", "includes_client_info", "truncates_replies", "repeats_redirect_parameters",
        "checks_sign_out_target", "issuer_ends_with_slash",
    ].map { Turn($0, DemoSwitches().json.object?[$0] ?? .null, works) }

    // MARK: The turns

    /// Signs in, and refreshes once.
    private static let works: @Sendable (Home, DemoTenant) throws -> Void = { home, tenant in
        try tenant.signIn(at: home, policy: "sign-in")
        let token = try home.run(["token"]).line
        #expect(try home.run(["token", "--force-refresh"]).line != token)
        #expect(try home.run(["request", "GET", "/tasks"]).standardOutput == "[]")
    }

    /// Begins a sign-in, which then ends with a status.
    private static func refused(
        _ status: Int32, _ words: String = ""
    ) -> @Sendable (Home, DemoTenant) throws -> Void {
        { home, tenant in
            let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
            let outcome = try home.run(["login", "--complete", try tenant.redirect(from: url)], exits: status)
            #expect(words.isEmpty || outcome.standardError.contains(words))
            #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
        }
    }

    /// Signs in, turns the switch only then, and has a refresh end with a status.
    private static func lost(
        _ name: String, _ value: JSONValue, _ status: Int32, _ words: String = ""
    ) -> Turn {
        Turn(name, value) { home, tenant in
            #expect(tenant.provider.turn(name, DemoSwitches().json.object?[name] ?? .null))
            try tenant.signIn(at: home, policy: "sign-in")
            #expect(tenant.provider.turn(name, value))
            let outcome = try home.run(["token", "--force-refresh"], exits: status)
            #expect(words.isEmpty || outcome.standardError.contains(words))
            #expect(try home.json(["accounts", "--json"]).array?.count == 1)
        }
    }

    private static let replies: [Turn] = [
        Turn("numbers_as_strings", true) { home, tenant in
            try works(home, tenant)
            let token = try home.json(["token", "--format", "json"]).object
            let left = (token?["expires_on"]?.integer ?? 0) - SystemClock().now.epochSeconds
            #expect((3_500...3_600).contains(left))
        },
        Turn("id_token_only_without_resource", true) { home, tenant in
            try tenant.definePolicies(at: home, ["bearer": "id_token"])
            try tenant.signIn(at: home, policy: "sign-in")
            #expect(try home.run(["token"]).line == home.run(["token", "--id-token"]).line)
            #expect(try home.run(["request", "GET", "/tasks"]).standardOutput == "[]")
        },
        Turn("id_token_only_without_resource", false) { home, tenant in
            try tenant.definePolicies(at: home, ["bearer": "id_token"])
            try tenant.signIn(at: home, policy: "sign-in")
            #expect(try home.run(["token"]).line == home.run(["token", "--id-token"]).line)
        },
        Turn("profile_info_has_nulls", false, works), Turn("profile_info_has_nulls", true, works),
        Turn("refuses_empty_secret", false, works),
        Turn("includes_client_info", false) { home, tenant in
            let id = try tenant.signIn(at: home, policy: "sign-in")
            tenant.provider.change { $0.includesClientInfo = true }
            #expect(try tenant.signIn(at: home, policy: "sign-in") == id)
        },
        Turn("truncates_replies", true, refused(1)),
        lost("truncates_replies", true, 1),
        Turn("token_reply", "[]", refused(1)), lost("token_reply", "{\"error\":1}", 7),
        Turn("reply_milliseconds", 400, works),
        Turn("refuses_empty_secret", true) { home, tenant in
            try tenant.signIn(at: home)
            try home.run(["token", "--force-refresh"])
        },
        Turn("refuses_policy_in_body", true) { home, tenant in
            // The seeds' URLs, with the policy in the query.
            try tenant.signIn(at: home)
            try home.run(["token", "--force-refresh"])
        },
        Turn("api_reply", "{\"message\":1}") { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            // A reply that is no list is passed on as it is: reading it is the caller's business.
            #expect(try home.run(["request", "GET", "/api/tasks"]).standardOutput == "{\"message\":1}")
            #expect(try home.json(["request", "GET", "/tasks"]).array == nil)
        },
        Turn("api_status", 503) { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            let outcome = try home.run(["request", "GET", "/tasks"], exits: 8)
            #expect(outcome.standardOutput.contains("not itself"))
        },
    ]

    private static let tokens: [Turn] = [
        Turn("policy_in_acr", true) { home, tenant in
            try works(home, tenant)
            let claims = try home.json(["claims", "--json"]).object
            #expect(claims?["acr"] == "B2C_1_sign_in" && claims?["tfp"] == nil)
        },
        Turn("policy_in_acr", false) { home, tenant in
            try works(home, tenant)
            let claims = try home.json(["claims", "--json"]).object
            #expect(claims?["tfp"] == "B2C_1_sign_in" && claims?["acr"] == nil)
        },
        Turn("old_subject", false) { home, tenant in
            try works(home, tenant)
            let claims = try home.json(["claims", "--json"]).object
            #expect(claims?["sub"] == claims?["oid"])
        },
        Turn("old_subject", true) { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            try tenant.signIn(at: home, policy: "sign-in", DemoTenant.bob)
            let accounts = try home.json(["accounts", "--json"]).array ?? []
            #expect(
                Set(accounts.compactMap { $0.object?["subject"]?.string })
                    == [DemoTenant.alice.objectID, DemoTenant.bob.objectID])
        },
        Turn("issuer_form", "tfp") { home, tenant in
            try works(home, tenant)
            let issuer = try home.json(["accounts", "--json"]).array?.first?.object?["issuer"]?.string
            #expect(issuer?.contains("/tfp/\(tenantID)/b2c_1_sign_in/v2.0/") == true)
        },
        Turn("issuer_form", "guid") { home, tenant in
            try works(home, tenant)
            let issuer = try home.json(["accounts", "--json"]).array?.first?.object?["issuer"]
            #expect(issuer == .string("\(tenant.base)/\(tenantID)/v2.0/"))
        },
        Turn("issuer_form", .string(customIssuer)) { home, _ in
            let outcome = try home.run(["login", "--type", "Tasks", "--print-url"], exits: 7)
            #expect(outcome.standardError.contains("hint: for a custom domain of the tenant, set issuer"))
        },
        Turn("issuer_form", .string(customIssuer)) { home, tenant in
            // The custom domain that the type names signs in, refreshes, and is shown with the account.
            try tenant.definePolicies(at: home, ["issuer": .string(customIssuer)])
            try works(home, tenant)
            let account = try home.json(["accounts", "--json"]).array?.first?.object
            #expect(account?["issuer"] == .string(customIssuer))
            // The tenant's own host is then another one.
            tenant.provider.change { $0.issuerForm = .guid }
            try home.run(["login", "--type", "Tasks", "--policy", "edit", "--print-url"], exits: 7)
        },
        Turn("issuer_ends_with_slash", false) { home, tenant in
            try works(home, tenant)
            let issuer = try home.json(["accounts", "--json"]).array?.first?.object?["issuer"]?.string
            #expect(issuer?.hasSuffix("/v2.0") == true)
        },
        Turn("discovery_issuer_host", "evil.example") { home, tenant in
            let outcome = try home.run(["login", "--type", "Tasks", "--print-url"], exits: 7)
            #expect(outcome.standardError.contains("has a different host than the authority"))
        },
        Turn("includes_tenant_claim", true) { home, tenant in
            try works(home, tenant)
            #expect(try home.json(["claims", "--json"]).object?["tid"] == .string(tenantID))
        },
        Turn("includes_tenant_claim", false) { home, tenant in
            try works(home, tenant)
            #expect(try home.json(["claims", "--json"]).object?["tid"] == nil)
        },
    ]

    /// Every fault of an ID token, at the sign-in and at a refresh, reported by its cause.
    private static let faults: [Turn] =
        [Turn("id_token_fault", "none", works)]
        + [
            ("signature", "signature"), ("unsigned", "none"), ("issuer", "issuer"), ("audience", "another client"),
            ("nonce", "nonce"), ("expired", "expired"), ("policy", "policy"),
        ].map { fault, word in Turn("id_token_fault", .string(fault), refused(7, word)) }
        + [
            ("signature", "signature"), ("unsigned", "none"), ("issuer", "issuer"), ("audience", "another client"),
            ("expired", "expired"), ("policy", "policy"),
        ].map { fault, word in lost("id_token_fault", .string(fault), 7, word) }

    private static let codes: [Turn] = [
        Turn("code_size", 65_536, works), Turn("code_lifetime", 0, refused(4, "AADB2C90080")),
        Turn("codes_are_single_use", false) { home, tenant in
            let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
            let redirect = try tenant.redirect(from: url)
            try home.run(["login", "--complete", redirect])
            // The provider would take the code again; this program never sends it twice.
            try home.run(["login", "--complete", redirect], exits: 7)
            #expect(tenant.provider.counters.codeReuses == 0)
        },
        Turn("requires_pkce", true, works), Turn("repeats_redirect_parameters", true, refused(2)),
        Turn("state_form", "correct", works), Turn("state_form", "wrong", refused(7)),
        Turn("state_form", "of_another_sign_in") { home, tenant in
            let first = try home.run(["login", "--type", "Tasks", "--print-url"]).line
            _ = try tenant.redirect(from: first)
            let second = try home.run(["login", "--type", "Tasks", "--print-url"]).line
            // The code of the second sign-in with the state of the first: PKCE tells that they are two.
            let redirect = try tenant.redirect(from: second)
            try home.run(["login", "--complete", redirect], exits: 7)
            #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
        },
    ]

    private static let lifetimes: [Turn] = [
        Turn("rotation", "revokes_old") { home, tenant in
            try works(home, tenant)
            try home.run(["token", "--force-refresh"])
            #expect(tenant.provider.counters.reusesDetected == 0)
        },
        Turn("rotation", "keeps_old", works),
        Turn("rotation", "none") { home, tenant in
            try works(home, tenant)
            try home.run(["token", "--force-refresh"])
        },
        lost("refresh_token_lifetime", -1, 4, "AADB2C90080"), lost("sliding_window", -1, 4, "AADB2C90080"),
        Turn("access_token_lifetime", 30) { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            let outcome = try home.run(["token", "--min-valid", "100"])
            #expect(outcome.standardError.contains("are valid for less than the requested 100 s"))
        },
        Turn("id_token_lifetime", 7_200) { home, tenant in
            try works(home, tenant)
            let claims = try home.json(["claims", "--json"]).object
            #expect((claims?["exp"]?.integer ?? 0) - (claims?["iat"]?.integer ?? 0) == 7_200)
        },
    ]

    private static let keys: [Turn] = [
        Turn("signing_key", 1) { home, tenant in
            tenant.provider.change { $0.signingKey = 0 }
            try tenant.signIn(at: home, policy: "sign-in")
            tenant.provider.change { $0.signingKey = 1 }
            try home.run(["token", "--force-refresh"])
            try tenant.signIn(at: home, policy: "edit", name: "Alice")
        },
        Turn("unknown_kid", true, refused(7)),
        Turn("keys_status", 500) { home, tenant in
            try refused(6)(home, tenant)
            // The code was not spent on tokens that could not be checked.
            #expect(tenant.provider.counters.tokenRequests == 0)
        },
        Turn("keys_have_algorithm", true, works),
    ]

    private static let trouble: [Turn] = [
        lost("failures", 1, 6, "HTTP status 503"),
        Turn("failure_status", 500) { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            tenant.provider.change { $0.failures = 1 }
            #expect(try home.run(["token", "--force-refresh"], exits: 6).standardError.contains("HTTP status 500"))
        },
        Turn("failure_status", 503) { home, tenant in
            tenant.provider.change { $0.failures = 1 }
            try refused(6, "HTTP status 503")(home, tenant)
        },
        Turn("failure_status", 429) { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            tenant.provider.change { $0.failures = 1 }
            let outcome = try home.run(["token", "--force-refresh"], exits: 6)
            #expect(outcome.standardError.contains("is limiting requests"))
            try home.run(["token", "--force-refresh"])
        },
        Turn("retry_after", 7) { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            tenant.provider.change { $0.failures = 1 }
            // Another policy has no token to fall back on: here the trouble is an error.
            let url = try home.run(["login", "--type", "Tasks", "--policy", "edit", "--print-url"]).line
            let redirect = try tenant.redirect(from: url, act: .submit(name: "Alice"))
            let outcome = try home.run(["login", "--complete", redirect], exits: 6)
            #expect(outcome.standardError.contains("hint: try again in 7 seconds"))
        },
        Turn("checks_sign_out_target", true) { home, tenant in
            try tenant.signIn(at: home, policy: "sign-in")
            #expect(mkfifo(home.path + "/status", 0o600) == 0)
            let browser = try home.write(
                "#!/bin/sh\ncurl -s -o /dev/null -w '%{http_code}' \"$1\" > '\(home.path)/status'\n", to: "browser",
                mode: 0o700)
            let outcome = try home.run(
                ["logout", "--type", "Tasks", "--browser"], environment: ["BROWSER": browser])
            #expect(outcome.standardError.contains("/b2c_1_sign_in/oauth2/v2.0/logout?client_id="))
            // The browser goes on by itself. No target is named, so no target can be unregistered.
            #expect(try ChildProcess("cat", [home.path + "/status"]).run().standardOutput == "200")
            #expect(tenant.provider.counters.signOuts == 1)
        },
    ]
}

extension DemoProvider {
    /// Sets a switch by the name that JSON gives it.
    func turn(_ name: String, _ value: JSONValue) -> Bool {
        var isKnown = false
        change { isKnown = $0.set(name, to: value) }
        return isKnown
    }
}
