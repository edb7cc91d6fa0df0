import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// `request` as the samples used their APIs, and the mistakes they made.
@Suite struct `Requests to the task APIs` {
    private func world() throws -> (Home, DemoTenant) {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        try tenant.signIn(at: home, policy: "sign-in")
        return (home, tenant)
    }

    private func texts(_ home: Home, _ path: String, _ key: String) throws -> [String] {
        try home.json(["request", "GET", path, "--type", "Tasks"]).array?.compactMap { $0.object?[key]?.string }
            ?? []
    }

    @Test func `List, add by form and by JSON, delete: the API of the NXOAuth2 sample`() throws {
        let (home, tenant) = try world()
        #expect(try texts(home, "/api/tasks", "Text") == [])
        try home.run(["request", "POST", "/api/tasks", "--form", "Text=buy milk & bread = 3 ä"])
        try home.run(["request", "POST", "/api/tasks", "--json", #"{"Text":"call Bob"}"#])
        #expect(try texts(home, "/api/tasks", "Text") == ["buy milk & bread = 3 ä", "call Bob"])
        let id = try #require(
            home.json(["request", "GET", "/api/tasks"]).array?.first?.object?["Id"]?.integer)
        try home.run(["request", "DELETE", "/api/tasks/\(id)"])
        #expect(try texts(home, "/api/tasks", "Text") == ["call Bob"])
        #expect(tenant.provider.counters.apiUnauthorized == 0)
    }

    @Test func `Add and delete with a JSON body: the API of the ADAL sample`() throws {
        let (home, tenant) = try world()
        let added = try home.json(["request", "POST", "/tasks", "--json", #"{"task":"buy milk"}"#])
        #expect(added.object?["owner"]?.string == DemoTenant.alice.objectID)
        let body = try home.write(#"{"task": "from a file"}"#, to: "task.json")
        try home.run(["request", "POST", tenant.base + "/tasks", "--json", "@" + body])
        #expect(try texts(home, "/tasks", "task") == ["buy milk", "from a file"])
        try home.run(["request", "DELETE", "/tasks", "--json", #"{"task":"buy milk"}"#])
        #expect(try texts(home, "/tasks", "task") == ["from a file"])
    }

    @Test func `Tasks are kept per user, and switching users takes no sign-in`() throws {
        let (home, tenant) = try world()
        try home.run(["request", "POST", "/tasks", "--json", #"{"task":"hers"}"#])
        try tenant.signIn(at: home, policy: "sign-in", DemoTenant.bob)
        let bob = ["--type", "Tasks", "--account", "bob@example.com"]
        #expect(try home.json(["request", "GET", "/tasks"] + bob).array?.isEmpty == true)
        // One more sign-in leaves the default as it is.
        #expect(try texts(home, "/tasks", "task") == ["hers"])
        try home.run(["use", "bob@example.com", "--type", "Tasks"])
        #expect(try home.json(["request", "GET", "/tasks", "--type", "Tasks"]).array?.isEmpty == true)
    }

    @Test func `A 401 with a bare challenge is answered by one refresh and one retry, the body sent again`() throws
    {
        let (home, tenant) = try world()
        tenant.provider.expireTokens()
        try home.run(["request", "POST", "/tasks", "--json", #"{"task":"once"}"#])
        #expect(tenant.provider.counters.refreshes == 1)
        #expect(tenant.provider.counters.apiUnauthorized == 1)
        #expect(try texts(home, "/tasks", "task") == ["once"])
    }

    @Test func `A 401 that stays is given as it is, after one retry`() throws {
        let (home, tenant) = try world()
        tenant.provider.expireTokens()
        tenant.provider.change { $0.apiStatus = 401 }
        let outcome = try home.run(["request", "GET", "/tasks"], exits: 8)
        #expect(outcome.standardOutput.contains("not itself"))
        #expect(tenant.provider.counters.refreshes == 1)
        #expect(tenant.provider.counters.apiRequests == 2)
    }

    @Test(arguments: [
        (["GET", "/tasks/somebody-else"], 403, "somebody else's"),
        (["DELETE", "/api/tasks/99"], 404, "no such task"),
        (["POST", "/tasks"], 409, "MissingTask"), (["POST", "/api/tasks"], 415, "Unsupported"),
        (["PUT", "/tasks"], 405, "Not Allowed"),
    ]) func `A failure of the service is one here, and its words are passed on`(
        words: [String], status: Int, text: String
    ) throws {
        let (home, tenant) = try world()
        let outcome = try home.run(["request"] + words, exits: 8)
        #expect(outcome.standardOutput.contains(text))
        #expect(outcome.standardError.contains("returned \(status)"))
        #expect(tenant.provider.counters.refreshes == 0)
    }

    @Test func `Without an account there is a clear error, not a crash`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let outcome = try home.run(["request", "GET", "/tasks", "--type", "Tasks"], exits: 3)
        #expect(outcome.standardError.contains("hint: credmgr login --type Tasks"))
        #expect(tenant.provider.counters.apiRequests == 0)
    }

    @Test(arguments: [
        "https://evil.example/tasks", "http://evil.example/tasks", "//evil.example/tasks",
        "http://localhost:1/tasks", "https://localhost/tasks",
    ]) func `A token goes to the origin of the API and nowhere else`(address: String) throws {
        let (home, tenant) = try world()
        let outcome = try home.run(["request", "GET", address], exits: address.hasPrefix("//") ? 2 : 7)
        if !address.hasPrefix("//") { #expect(outcome.standardError.contains("is not sent")) }
        #expect(tenant.provider.counters.apiUnauthorized == 0)
    }

    @Test func `Parameters, header fields and the reply's head`() throws {
        let (home, tenant) = try world()
        let outcome = try home.run([
            "request", "GET", "/tasks", "--query", "a=b c", "--query", "d=&", "--header", "X-Mine: 1", "-i",
        ])
        #expect(outcome.standardOutput.hasPrefix("HTTP 200\n"))
        #expect(outcome.standardOutput.lowercased().contains("content-type: application/json"))
        #expect(outcome.standardOutput.hasSuffix("\n\n[]"))
        for header in ["Authorization: Bearer mine", "Host: evil.example", "X: a\r\nY: b"] {
            try home.run(["request", "GET", "/tasks", "--header", header], exits: 2)
        }
        let file = home.path + "/reply.json"
        try home.run(["request", "GET", "/tasks", "-o", file])
        #expect(home.text(of: "reply.json") == "[]")
        #expect(tenant.provider.counters.apiRequests == 2)
    }

    @Test func `A file is sent as a part of a form, and again after a refresh`() throws {
        let (home, tenant) = try world()
        let file = try home.write("the content", to: "note.txt")
        tenant.provider.expireTokens()
        // The API accepts no multipart form and reports that; the token was refreshed on the way.
        let outcome = try home.run(
            ["request", "POST", "/api/tasks", "--form", "Text=x", "--file", "note=@" + file], exits: 8)
        #expect(outcome.standardError.contains("returned 415"))
        #expect(tenant.provider.counters.refreshes == 1)
        try home.run(["request", "POST", "/api/tasks", "--file", "note=@" + home.path + "/none"], exits: 1)
    }
}
