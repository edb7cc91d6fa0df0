import CredentialCore
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `Tokens and accounts as others read them` {
    @Test func `Every format has its exact bytes`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let token = try home.run(["token", "--type", DemoTenant.typeName]).line
        #expect(tenant.provider.secrets.contains(token))
        let json = try home.json(["token", "--format", "json"])
        let expiresOn = try #require(json.object?["expires_on"]?.integer)
        let expiresAt = Timestamp(epochSeconds: expiresOn).rfc3339
        #expect(json.object?["access_token"]?.string == token)
        #expect(json.object?["token_type"]?.string == "Bearer")
        #expect(json.object?["expires_at"]?.string == expiresAt)
        #expect(json.object?["policy"]?.string == "b2c_1_sign_in")
        #expect(json.object?["refreshed"] == false)
        #expect(
            json.object?["account"] == ["id": .string(id), "type": "B2C_Acccount", "username": "alice@example.com"])
        for (format, bytes) in [
            ("token", token + "\n"), ("bearer", "Bearer \(token)\n"),
            ("header", "Authorization: Bearer \(token)\n"),
            ("env", "export ACCESS_TOKEN='\(token)'\nexport ACCESS_TOKEN_EXPIRES_ON='\(expiresOn)'\n"),
            ("credential", #"{"version":1,"token":"\#(token)","expires_at":"\#(expiresAt)"}"# + "\n"),
            (
                "exec-credential",
                #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"#
                    + #""expirationTimestamp":"\#(expiresAt)","token":"\#(token)"}}"# + "\n"
            ),
        ] {
            let outcome = try home.run(["token", "--format", format])
            #expect(outcome.standardOutput == bytes)
            #expect(outcome.standardError.isEmpty)
        }
        let beta = try home.run(
            ["token", "--format", "exec-credential"],
            environment: [
                "KUBERNETES_EXEC_INFO":
                    #"{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{"interactive":false}}"#
            ])
        #expect(beta.standardOutput.contains("client.authentication.k8s.io/v1beta1"))
        let idToken = try home.run(["token", "--id-token"]).line
        #expect(idToken != token && tenant.provider.secrets.contains(idToken))
    }

    @Test func `The account list has every key, null for unknown values`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let account = try #require(try home.json(["accounts", "--json"]).array?.first?.object)
        #expect(
            account.keys == [
                "id", "type", "adapter", "group", "username", "name", "subject", "issuer", "client_id", "default",
                "status", "status_reason", "store", "policies", "scope", "expires_at", "expires_on",
                "refresh_expires_at", "created_at", "updated_at", "type_missing",
            ])
        #expect(account["id"]?.string == id)
        #expect(account["type"]?.string == "B2C_Acccount")
        #expect(account["adapter"]?.string == "azure-b2c")
        #expect(account["group"]?.string == DemoTenant.group)
        #expect(account["username"]?.string == "alice@example.com")
        #expect(account["name"]?.string == "Alice Example")
        #expect(account["subject"]?.string == DemoTenant.alice.objectID)
        #expect(account["client_id"]?.string == DemoTenant.clientID)
        #expect(account["default"] == true)
        #expect(account["status"]?.string == "active")
        #expect(account["status_reason"] == .null)
        #expect(account["store"]?.string == "file")
        #expect(account["policies"] == ["b2c_1_sign_in"])
        #expect(
            account["expires_on"]?.integer.map { Timestamp(epochSeconds: $0).rfc3339 }
                == account["expires_at"]?.string)
        #expect(account["refresh_expires_at"]?.string?.hasSuffix("Z") == true)
        let table = try home.run(["accounts"]).standardOutput
        for word in ["NAME", "alice@example.com", "B2C_Acccount", "active", "file", id] {
            #expect(table.contains(word), "\(word)")
        }
    }

    @Test func `Nothing signed in is an empty list, and a note`() throws {
        let home = try Home()
        #expect(try home.run(["accounts", "--json"]).standardOutput == "[]\n")
        let outcome = try home.run(["accounts"])
        #expect(outcome.standardOutput.isEmpty)
        #expect(outcome.standardError.hasPrefix("credmgr: note: "))
    }

    @Test func `Claims are those that were validated`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let claims = try home.json(["claims", "--json"]).object
        #expect(claims?["oid"]?.string == DemoTenant.alice.objectID)
        #expect(claims?["tfp"]?.string == "B2C_1_sign_in")
        let lines = try home.run(["claims"]).standardOutput.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("name ") && $0.hasSuffix("Alice Example") })
    }

    @Test func `A forced refresh gives another token, which the next call gives too`() throws {
        let home = try Home(), tenant = try DemoTenant { $0.rotation = .revokesOld }
        try tenant.signIn(at: home)
        let first = try home.run(["token"]).line
        let second = try home.json(["token", "--force-refresh", "--format", "json"]).object
        #expect(second?["refreshed"] == true)
        #expect(second?["access_token"]?.string != first)
        #expect(try home.run(["token"]).line == second?["access_token"]?.string)
        try home.run(["token", "--force-refresh"])
        #expect(tenant.provider.counters.reusesDetected == 0)
        #expect(tenant.provider.counters.refreshes == 2)
    }

    @Test func `The cache gives the same token, and forgets it with the account`() throws {
        let home = try Home(["CREDMGR_CACHE": "on"]), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let first = try home.run(["token", "--type", DemoTenant.typeName]).line
        for _ in 0..<3 { #expect(try home.run(["token", "--type", DemoTenant.typeName]).line == first) }
        let second = try home.run(["token", "--type", DemoTenant.typeName, "--force-refresh"]).line
        #expect(second != first)
        #expect(try home.run(["token", "--type", DemoTenant.typeName]).line == second)
        try home.run(["logout", "--type", DemoTenant.typeName])
        try home.run(["token", "--type", DemoTenant.typeName], exits: 3)
    }

    @Test func `A lifetime shorter than asked is given with a warning`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let outcome = try home.run(["token", "--min-valid", "7200"])
        #expect(outcome.standardError.contains("credmgr: warning: "))
        #expect(outcome.standardOutput.filter(\.isNewline).count == 1)
        #expect(tenant.provider.counters.refreshes == 1)
    }

    @Test func `A reply without a refresh token keeps the old one`() throws {
        let home = try Home(), tenant = try DemoTenant { $0.rotation = .none }
        try tenant.signIn(at: home)
        for _ in 0..<3 { try home.run(["token", "--force-refresh"]) }
        #expect(tenant.provider.counters.refreshes == 3)
    }

    @Test func `Logging out forgets the account and its secrets, and says that B2C revokes nothing`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let outcome = try home.run(["logout", "--account", id, "--revoke", "--force"])
        #expect(outcome.standardOutput.isEmpty)
        #expect(outcome.standardError.contains("not revoked"))
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
        try home.run(["token", "--type", DemoTenant.typeName], exits: 3)
        try home.run(["logout", "--account", id], exits: 3)
    }

    @Test func `Forgetting everything wants a yes`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try home.run(["logout", "--all"], exits: 2)
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)
        try home.run(["logout", "--all", "--yes"])
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }

    @Test func `A refresh with a warm cache is one request`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let before = tenant.provider.counters
        #expect(before.discoveryRequests == 1 && before.keyRequests == 1)
        try home.run(["token", "--force-refresh"])
        var after = tenant.provider.counters
        #expect(after.refreshes == before.refreshes + 1)
        #expect(after.discoveryRequests == before.discoveryRequests && after.keyRequests == before.keyRequests)

        // A damaged cache costs its requests once more, and no more than that.
        for name in home.files.keys where name.contains("/metadata/") { try home.write("{", to: name) }
        try home.run(["token", "--force-refresh"])
        try home.run(["token", "--force-refresh"])
        after = tenant.provider.counters
        #expect(after.refreshes == before.refreshes + 3)
        #expect(after.keyRequests == before.keyRequests + 1)
        let cached = home.files.filter { $0.key.contains("/metadata/") }
        #expect(cached.count == 2)
        for secret in tenant.provider.secrets {
            for (name, data) in cached {
                #expect(!String(decoding: data, as: UTF8.self).contains(secret), "\(name)")
            }
        }
    }
}
