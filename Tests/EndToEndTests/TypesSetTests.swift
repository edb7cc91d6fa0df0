import Foundation
import StrictJSON
import Testing

@Suite struct `Changing a definition` {
    private func home() throws -> Home {
        let home = try Home()
        try home.run([
            "types", "add", "Work", "--issuer", "https://login.invalid", "--client-id", "a", "--scope", "openid",
            "--api-base", "https://api.example", "--header", "X-One=1",
        ])
        return home
    }

    private func definition(_ home: Home) throws -> JSONObject {
        try #require(try home.json(["types", "show", "Work", "--json"]).object)
    }

    @Test func `Some keys are set, others removed, and the rest stays`() throws {
        let home = try home()
        try home.run([
            "types", "set", "Work", "scope=openid profile", "extra_parameters.authorize.prompt=login",
            "dpop_bound_access_tokens=true", "api_origins=https://a.example https://b.example", "--unset",
            "headers.X-One",
        ])
        let json = try definition(home)
        #expect(json["scope"] == "openid profile")
        #expect(json["extra_parameters"] == ["authorize": ["prompt": "login"]])
        #expect(json["dpop_bound_access_tokens"] == true)
        #expect(json["api_origins"] == ["https://a.example", "https://b.example"])
        #expect(json["headers"] == nil)
        #expect(json["api_base"] == "https://api.example")
        try home.run(["types", "set", "Work", "--unset", "api_base", "--unset", "dpop_bound_access_tokens"])
        #expect(try definition(home)["api_base"] == nil)
        #expect(try definition(home)["dpop_bound_access_tokens"] == nil)
    }

    @Test(arguments: [
        (["scoep=x"], "unknown key 'scoep'"), (["--unset", "scoep"], "unknown key 'scoep'"),
        (["issuer=http://login.invalid"], "must be an https URL"),
        (["--unset", "client_id"], "'client_id' is missing"),
        (["dpop_bound_access_tokens=yes"], "must be true or false"), (["flow=fast"], "must be one of"),
        (["scope"], "KEY=VALUE"),
        (["headers=x"], "must be JSON"), (["extra_parameters.x.y=z"], "extra_parameters.authorize.NAME"),
        (["client_secret=hunter2"], "a secret is not accepted on the command line"), ([], "a change is required"),
        (["tenant=example"], "is only valid for the adapter azure-b2c"),
    ])
    func `Invalid input makes no change`(words: [String], message: String) throws {
        let home = try home(), before = home.text(of: "config/credmgr/types/Work.json")
        let said = try home.run(["types", "set", "Work"] + words, exits: 2).standardError
        #expect(said.contains(message))
        #expect(!said.contains("hunter2"))
        #expect(home.text(of: "config/credmgr/types/Work.json") == before)
    }

    @Test func `A new client secret goes into the store, comments are kept beside the file`() throws {
        let home = try home()
        let text = "{ // ours\n \"issuer\": \"https://login.invalid\", \"client_id\": \"a\" }\n"
        try home.write(text, to: "config/credmgr/types/Work.json")
        try home.run(["types", "set", "Work", "--client-secret-file", "-"], input: "demo client secret\n")
        #expect(try definition(home)["client_secret"] == ["store": true])
        #expect(home.text(of: "config/credmgr/types/Work.json.before") == text)
    }

    @Test func `A package's definition stays, and the changed one takes its place`() throws {
        let home = try Home()
        let package = try home.write(
            #"{"issuer": "https://login.invalid", "client_id": "a"}"#, to: "share/credmgr/types/Work.json")
        #expect(try home.run(["types", "set", "Work", "client_id=b"]).standardError.contains("\(package) stays"))
        #expect(try definition(home)["client_id"] == "b")
        #expect(home.text(of: "share/credmgr/types/Work.json")?.contains(#""a""#) == true)
    }

    @Test func `No type is defined if the issuer cannot be asked, unless the user requests it`() throws {
        let home = try Home()
        let words = ["types", "add", "Work", "--issuer", "https://login.invalid", "--client-id", "a b"]
        let refused = try home.run(words, exits: 6).standardError
        #expect(
            refused.contains(
                "hint: credmgr types add Work --issuer https://login.invalid --client-id 'a b' --offline\n"))
        #expect(home.text(of: "config/credmgr/types/Work.json") == nil)
        try home.run(words + ["--offline"])
        #expect(try definition(home)["scope"] == nil)
    }

    @Test func `Keys that a replaced definition had and the new one lacks are reported`() throws {
        let home = try home()
        let words = ["types", "add", "Work", "--issuer", "https://login.invalid", "--client-id", "a"]
        let said = try home.run(words + ["--scope", "openid", "--force"]).standardError
        #expect(said.contains("also had headers, api_base, which the new definition lacks"))
    }
}
