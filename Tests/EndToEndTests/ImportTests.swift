import StrictJSON
import Testing

@Suite struct `Importing the seeds' settings` {
    private let nowhere = "https://login.microsoftonline.com"

    @Test func `Form A becomes a type, and each key is accounted for`() throws {
        let home = try Home()
        let file = try home.write(AppSettings(base: nowhere).plist, to: "settings.plist")
        let report = try home.run(["types", "import", file]).standardOutput
        let fates = report.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(
            fates.map { $0.first ?? "" } == [
                "accountIdentifier", "clientID", "clientSecret", "authURL", "loginURL", "bhh", "tokenURL",
                "keychain",
                "contentType", "taskAPI", "(scope)",
            ])
        for (number, fate) in fates.dropLast().enumerated() { #expect(fate[2] == "\(5 + 2 * number))") }
        #expect(report.contains("offline_access added"))
        #expect(report.contains("no secret is sent"))

        let type = try home.json(["types", "show", "B2C_Acccount", "--json"])
        #expect(type.object?["client_id"]?.string == DemoTenant.clientID)
        #expect(type.object?["scope"]?.string == "openid \(DemoTenant.clientID) offline_access")
        #expect(type.object?["redirect_uri"]?.string == "urn:ietf:wg:oauth:2.0:oob")
        #expect(type.object?["keychain_group"]?.string == DemoTenant.group)
        #expect(type.object?["tenant"]?.string == DemoTenant.tenant)
        #expect(type.object?["client_secret"] == nil)
        #expect(try home.run(["types"]).standardOutput.contains("B2C_Acccount  azure-b2c"))
    }

    @Test func `The name keeps its three c's, and the name with two is another type`() throws {
        let home = try Home()
        let file = try home.write(AppSettings(base: nowhere).plist, to: "settings.plist")
        try home.run(["types", "import", file])
        let error = try home.run(["token", "--type", "B2C_Account"], exits: 2).standardError
        #expect(error.contains("did you mean 'B2C_Acccount'?"))
        #expect(try home.run(["token", "--type", "b2c_acccount"], exits: 2).standardError.contains("B2C_Acccount"))
    }

    @Test func `A definition is not overwritten unasked`() throws {
        let home = try Home()
        var settings = AppSettings(base: nowhere)
        let file = try home.write(settings.plist, to: "settings.plist")
        try home.run(["types", "import", file])
        let before = home.files["config/credmgr/types/B2C_Acccount.json"]
        settings["taskAPI"] = .text("https://api.example.com")
        try home.write(settings.plist, to: "settings.plist")
        #expect(try home.run(["types", "import", file], exits: 2).standardError.contains("--force"))
        #expect(home.files["config/credmgr/types/B2C_Acccount.json"] == before)
        try home.run(["types", "import", file, "--force"])
        #expect(home.text(of: "config/credmgr/types/B2C_Acccount.json")?.contains("api.example.com") == true)
    }

    @Test func `--exact leaves the scopes as the app had them`() throws {
        let home = try Home()
        let file = try home.write(AppSettings(base: nowhere).plist, to: "settings.plist")
        try home.run(["types", "import", file, "--exact"])
        let type = try home.json(["types", "show", "B2C_Acccount", "--json"])
        #expect(type.object?["scope"]?.string == "openid \(DemoTenant.clientID)")
    }

    @Test(arguments: [false, true])
    func `Form B needs a name, and --fix mends the port behind the path`(fixes: Bool) throws {
        let home = try Home()
        let file = try home.write(AppSettings(formB: "http://localhost:3000").plist, to: "settings.plist")
        #expect(try home.run(["types", "import", file], exits: 2).standardError.contains("--name"))
        let report = try home.run(["types", "import", file, "--name", "Tasks"] + (fixes ? ["--fix"] : []))
        for key in AppSettings(formB: nowhere).entries.map(\.key) {
            #expect(report.standardOutput.split(separator: "\n").contains { $0.hasPrefix(key + " ") }, "\(key)")
        }
        let type = try home.json(["types", "show", "Tasks", "--json"]).object
        #expect(
            type?["api_base"]?.string == (fixes ? "http://localhost:3000/tasks" : "http://localhost/tasks:3000"))
        #expect(report.standardOutput.contains("http://localhost:3000/tasks"))
        #expect(type?["default_policy"]?.string == "email-sign-in")
        #expect(type?["policies"]?.object?["facebook-sign-in"]?.string == "b2c_1_fb_sign_in")
    }

    @Test(arguments: [
        ("clientID", "<client ID>", 8),
        ("authURL", "https://login.microsoftonline.com/<tenant name>/oauth2/v2.0/authorize?p=<policy name>", 12),
        ("tokenURL", "https://login.microsoftonline.com/<tenant name>/oauth2/v2.0/token?p=<policy name>", 18),
    ])
    func `A placeholder is named with its key and line, and nothing is written`(
        key: String, value: String, line: Int
    ) throws {
        let home = try Home()
        var settings = AppSettings(base: nowhere)
        settings[key] = .text(value)
        let file = try home.write(settings.plist, to: "settings.plist")
        let error = try home.run(["types", "import", file], exits: 2).standardError
        #expect(error.contains("placeholder not filled in at key \(key), line \(line)"))
        #expect(home.files.keys.sorted() == ["settings.plist"])
    }

    @Test func `A policy that differs between the two URLs is refused`() throws {
        let home = try Home()
        var settings = AppSettings(base: nowhere)
        settings["tokenURL"] = .text("\(nowhere)/\(DemoTenant.tenant)/oauth2/v2.0/token?p=b2c_1_other")
        let file = try home.write(settings.plist, to: "settings.plist")
        #expect(try home.run(["types", "import", file], exits: 2).standardError.contains("tokenURL"))
        #expect(home.files.keys.sorted() == ["settings.plist"])
    }

    @Test func `A plist in the folder of types is a type`() throws {
        let home = try Home()
        try home.write(AppSettings(base: nowhere).plist, to: "etc/credmgr/types/Shipped.plist")
        let types = try home.json(["types", "--json"])
        #expect(types.array?.first?.object?["name"]?.string == "Shipped")
        #expect(types.array?.first?.object?["client_id"]?.string == DemoTenant.clientID)
    }

    @Test func `An unknown key of a plist is reported by the import, and an error in a lookup`() throws {
        let home = try Home()
        var settings = AppSettings(base: nowhere)
        settings["keychian"] = .text("other")
        let file = try home.write(settings.plist, to: "config/credmgr/types/Looked.plist")
        let error = try home.run(["token", "--type", "Looked"], exits: 2).standardError
        #expect(
            error.contains("\(file) cannot be used: key keychian, line 25, is unknown, did you mean 'keychain'?"))
        let report = try home.run(["types", "import", file, "--name", "Imported"]).standardOutput
        #expect(report.contains("keychian (line 25) ignored: unknown key, did you mean 'keychain'?"))
        try home.run(["token", "--type", "Imported"], exits: 3)
    }

    @Test func `A definition in JSON is imported too`() throws {
        let home = try Home()
        let file = try home.write(
            #"{"adapter":"oauth2","issuer":"https://id.example.com","client_id":"tool","scope":"openid",}"#,
            to: "Tool.json")
        try home.run(["types", "import", file])
        #expect(
            try home.json(["types", "show", "Tool", "--json"]).object?["issuer"]?.string == "https://id.example.com"
        )
        try home.run(["types", "remove", "Tool"])
        #expect(try home.json(["types", "--json"]).array?.isEmpty == true)
    }

    @Test func `A fault in a definition in JSON is told as one`() throws {
        let home = try Home()
        let slip = try home.write(#"{"client_ID":"tool","issuer":"https://id.example.com"}"#, to: "slip.json")
        let error = try home.run(["types", "import", slip], exits: 2).standardError
        #expect(error.contains("unknown key 'client_ID' in \(slip)") && error.contains("'client_id'"))
        let torn = try home.write(#"{"client_id":"#, to: "torn.json")
        #expect(try home.run(["types", "import", torn], exits: 2).standardError.contains("is not JSON"))
    }
}
