import CredentialCore
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `Helpers of other programs` {
    private func wellSetUp(_ rules: String? = nil) throws -> (Home, DemoTenant, token: String) {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        if let rules { try home.write(#"{"rules": \#(rules)}"#, to: "config/credmgr/config.json") }
        return (home, tenant, try home.run(["token"]).line)
    }

    /// The program under another name.
    private func link(_ name: String, at home: Home) throws -> String {
        let path = home.path + "/" + name
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: Home.program)
        return path
    }

    // MARK: git

    @Test func `git gets a token for the server of an API, and for no other`() throws {
        let (home, tenant, token) = try wellSetUp()
        let helper = try link("git-credential-credmgr", at: home)
        var environment = home.environment
        environment["GIT_CONFIG_NOSYSTEM"] = "1"
        environment["GIT_TERMINAL_PROMPT"] = "0"
        func git(_ words: [String], _ input: String) throws -> ChildProcess.Outcome {
            try ChildProcess("git", ["-c", "credential.helper=\(helper)"] + words, environment: environment)
                .run(input: input)
        }
        let filled = try git(["credential", "fill"], "url=\(tenant.base)/team/project.git\n\n")
        #expect(filled.exitStatus == 0, "\(filled.standardError)")
        #expect(filled.standardOutput.contains("\nusername=oauth2\n"))
        #expect(filled.standardOutput.contains("\npassword=\(token)\n"))
        let other = try git(["credential", "fill"], "url=https://git.example.com/project.git\n\n")
        #expect(other.exitStatus == 128)
        #expect(!other.standardOutput.contains(token))
        let explicit = try home.run(
            ["git-credential", "get", "--type", DemoTenant.typeName, "-v"],
            input: "protocol=https\nhost=git.example.com\n\n")
        #expect(explicit.standardOutput.isEmpty)
        #expect(explicit.standardError.contains("is not for https://git.example.com"))
    }

    @Test func `git's refusal of a token refreshes it, and the sign-in stays`() throws {
        let (home, tenant, token) = try wellSetUp()
        let place = "protocol=http\nhost=\(tenant.base.dropFirst("http://".count))\n"
        try home.run(["git-credential", "erase"], input: place + "username=oauth2\npassword=other\n\n")
        #expect(try home.run(["token"]).line == token)
        try home.run(["git-credential", "erase"], input: place + "username=oauth2\npassword=\(token)\n\n")
        let next = try home.run(["token"]).line
        #expect(next != token && tenant.provider.secrets.contains(next))
        try home.run(["git-credential", "store"], input: place + "username=oauth2\npassword=\(token)\n\n")
        try home.run(["git-credential", "some-later-operation"], input: place)
        #expect(
            try home.run(["git-credential", "capability"]).standardOutput == "version 0\ncapability authtype\n")
    }

    @Test func `a bearer token is returned if git and the server support it`() throws {
        let (home, tenant, token) = try wellSetUp()
        let place = "capability[]=authtype\nprotocol=http\nhost=\(tenant.base.dropFirst("http://".count))\n"
        let bearer = try home.run(
            ["git-credential", "get"], input: place + "wwwauth[]=Bearer realm=\"x\"\n\n")
        #expect(
            bearer.standardOutput.hasPrefix(
                "capability[]=authtype\nauthtype=Bearer\ncredential=\(token)\nephemeral=1\npassword_expiry_utc="))
        let basic = try home.run(["git-credential", "get"], input: place + "wwwauth[]=Basic realm=\"x\"\n\n")
        #expect(basic.standardOutput.hasPrefix("username=oauth2\npassword=\(token)\n"))
        // `https://@host/` names no user: git gets a name, because a server that looks at the token alone accepts
        // no empty one.
        let unnamed = try home.run(["git-credential", "get"], input: place + "username=\n\n")
        #expect(unnamed.standardOutput.hasPrefix("username=oauth2\npassword="), "\(unnamed.standardOutput)")
        // A name that means no user; any token will do beside it.
        let named = try home.run(["git-credential", "get"], input: place + "username=x-access-token\n\n")
        #expect(named.standardOutput.hasPrefix("username=x-access-token\npassword=\(token)\n"))
    }

    @Test func `the user name that git says chooses among accounts`() throws {
        let (home, tenant, _) = try wellSetUp()
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        let token = try home.run(["token", "--type", DemoTenant.typeName, "--account", bob]).line
        let place = "protocol=http\nhost=\(tenant.base.dropFirst("http://".count))\n"
        let named = try home.run(
            ["git-credential", "get"], input: place + "username=\(DemoTenant.bob.email)\n\n")
        #expect(named.standardOutput.contains("\npassword=\(token)\n"))
        // A different user's name gets no token.
        for name in ["nobody", "alice@example.org", "root"] {
            let nobody = try home.run(["git-credential", "get", "-v"], input: place + "username=\(name)\n\n")
            #expect(nobody.standardOutput.isEmpty)
            #expect(nobody.standardError.contains("requested user \(name) is not an account"))
        }
        let another = try home.run(
            ["git-credential", "get", "--account", "alice@example.com"],
            input: place + "username=\(DemoTenant.bob.email)\n\n")
        #expect(another.standardOutput.isEmpty)
    }

    @Test func `a rule is about its port and its path, and says so`() throws {
        let rules = #"""
            [{"host": "git.example.com", "type": "\#(DemoTenant.typeName)"},
             {"host": "localhost", "type": "\#(DemoTenant.typeName)"},
             {"host": "team.example.com:8443", "path": "/team", "type": "\#(DemoTenant.typeName)"}]
            """#
        let (home, _, token) = try wellSetUp(rules)
        func ask(_ protocol_: String, _ host: String, _ more: String = "") throws -> ChildProcess.Outcome {
            try home.run(["git-credential", "get"], input: "protocol=\(protocol_)\nhost=\(host)\n\(more)\n")
        }
        for (scheme, host, more) in [
            ("https", "git.example.com", ""), ("https", "git.example.com:443", ""), ("http", "localhost", ""),
            ("https", "team.example.com:8443", "path=team/project.git\n"), ("smtp", "git.example.com:587", ""),
        ] {
            #expect(try ask(scheme, host, more).standardOutput.contains("\npassword=\(token)\n"), "\(host)")
        }
        for (scheme, host, more) in [
            ("https", "git.example.com:31337", ""), ("http", "localhost:31337", ""),
            ("http", "git.example.com", ""),
            ("https", "localhost:1/.evil.example", ""), ("https", "team.example.com", "path=team/x\n"),
            ("https", "team.example.com:8443", "path=other/x\n"), ("https", "team.example.com:8443", ""),
            ("https", "team.example.com:8443", "path=team/../other\n"),
            ("https", "git.example.com@evil.example", ""),
        ] {
            #expect(try ask(scheme, host, more).standardOutput.isEmpty, "\(scheme) \(host) \(more)")
        }
        let told = try ask("https", "git.example.com:31337").standardError
        #expect(
            told.contains("credmgr: warning: the rule for git.example.com in config.json does not match port 31337")
        )
        let list = try home.json(["docker-credential", "list"]).object
        #expect(list?.keys == ["git.example.com", "localhost", "team.example.com:8443/team"])
        for protocol_ in ["ssh", "ftp", "cert", "rsync"] {
            let why = try home.run(
                ["git-credential", "get", "-v"], input: "protocol=\(protocol_)\nhost=git.example.com\n\n")
            #expect(why.standardOutput.isEmpty && why.standardError.contains("nothing is given"), "\(protocol_)")
        }
    }

    @Test func `a rule for a host gives its type's token to that host`() throws {
        let rule = #"[{"host": "git.example.com", "type": "\#(DemoTenant.typeName)", "username": "x-token-auth"}]"#
        let (home, _, token) = try wellSetUp(rule)
        let given = try home.run(["git-credential", "get"], input: "protocol=https\nhost=git.example.com\n\n")
        #expect(given.standardOutput.hasPrefix("username=x-token-auth\npassword=\(token)\n"))
        let plain = try home.run(
            ["git-credential", "get", "-v"], input: "protocol=http\nhost=git.example.com\n\n")
        #expect(plain.standardOutput.isEmpty)
        #expect(plain.standardError.contains("plain http"))
        let ssh = try home.run(["git-credential", "get"], input: "protocol=ssh\nhost=git.example.com\n\n")
        #expect(ssh.standardOutput.isEmpty)
        try home.run(["git-credential", "get"], input: "no equals sign\n\n", exits: 2)
    }

    @Test func `a rule for the folder does not hide the rule for the host`() throws {
        let folder = #"{"directory": "/**", "type": "Elsewhere"}"#
        let host = #"{"host": "git.example.com", "type": "\#(DemoTenant.typeName)", "username": "x"}"#
        let (home, tenant, token) = try wellSetUp()
        try tenant.define("Elsewhere", at: home)
        try home.write(#"{"rules": [\#(folder), \#(host)]}"#, to: "config/credmgr/config.json")
        let given = try home.run(["git-credential", "get"], input: "protocol=https\nhost=git.example.com\n\n")
        #expect(given.standardOutput.hasPrefix("username=x\npassword=\(token)\n"))
        let other = try home.run(["git-credential", "get"], input: "protocol=https\nhost=other.example.com\n\n")
        #expect(other.standardOutput.isEmpty)
        // A host's rule for an account does not open the host to the type of the folder.
        let account = #"{"host": "git.example.com", "account": "alice@example.com"}"#
        try home.write(#"{"rules": [\#(folder), \#(account)]}"#, to: "config/credmgr/config.json")
        let asked = "protocol=https\nhost=git.example.com\n\n"
        #expect(try home.run(["git-credential", "get"], input: asked).standardOutput.contains("password=\(token)"))
        let typed = try home.run(["git-credential", "get", "--type", "Elsewhere"], input: asked)
        #expect(typed.standardOutput.isEmpty)
    }

    // MARK: docker

    @Test func `docker's protocol is answered word for word`() throws {
        let rule =
            #"[{"host": "registry.example.com", "type": "\#(DemoTenant.typeName)", "username": "oauth2accesstoken"}]"#
        let (home, _, token) = try wellSetUp(rule)
        let helper = try link("docker-credential-credmgr", at: home)
        func docker(_ word: String, _ input: String) throws -> ChildProcess.Outcome {
            try ChildProcess(helper, [word], environment: home.environment).run(input: input)
        }
        for server in ["https://registry.example.com/v2/", "registry.example.com"] {
            let found = try docker("get", server)
            let object = try #require(try JSONValue.parse(found.standardOutput).object)
            #expect(object["ServerURL"]?.string == server)
            #expect(object["Username"]?.string == "oauth2accesstoken")
            #expect(object["Secret"]?.string == token)
        }
        let list = try docker("list", "unused")
        #expect(list.standardOutput == #"{"registry.example.com":"oauth2accesstoken"}"# + "\n")
        let unknown = try docker("get", "https://index.docker.io/v1/")
        #expect(unknown.exitStatus != 0)
        #expect(unknown.standardOutput == "credentials not found in native keychain\n")
        let nothing = try docker("get", "\n")
        #expect(nothing.exitStatus != 0)
        #expect(nothing.standardOutput == "no credentials server URL\n")
        let store = try docker("store", #"{"ServerURL":"r","Username":"u","Secret":"s"}"#)
        #expect(store.exitStatus != 0 && store.standardOutput.contains("stores no other credentials"))
        #expect(try docker("erase", "registry.example.com").exitStatus == 0)
        #expect(try home.run(["token"]).line == token)
    }

    // MARK: kubectl

    @Test func `kubectl gets a token, and the cluster may say for which account`() throws {
        let (home, _, token) = try wellSetUp(
            #"[{"host": "k.example:6443", "type": "\#(DemoTenant.typeName)", "username": "x"}]"#)
        func info(_ config: String, server: String = "https://k.example:6443") -> [String: String] {
            [
                "KUBERNETES_EXEC_INFO":
                    #"{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{"interactive":false,"cluster":{"server":"\#(server)","config":\#(config)}}}"#
            ]
        }
        let given = try home.run(
            ["kubernetes"], environment: info(#"{"type":"\#(DemoTenant.typeName)","account":"alice@example.com"}"#))
        let object = try #require(try JSONValue.parse(given.standardOutput).object)
        #expect(object["apiVersion"]?.string == "client.authentication.k8s.io/v1beta1")
        #expect(object["kind"]?.string == "ExecCredential")
        #expect(object["status"]?.object?["token"]?.string == token)
        // The author of a kubeconfig chooses any server.
        let chosen = #"{"type":"\#(DemoTenant.typeName)"}"#
        for server in ["https://evil.example", "https://k.example", "https://k.example:6443@evil.example", "k", ""]
        {
            for words in [["kubernetes"], ["token", "--format", "exec-credential"]] {
                let refused = try home.run(words, environment: info(chosen, server: server), exits: 7)
                #expect(refused.standardOutput.isEmpty)
                #expect(refused.standardError.contains("the kubeconfig names the server "))
            }
        }
        // A token may not go to a cluster that names no server.
        let odd = #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":[]}}"#
        try home.run(["kubernetes"], environment: ["KUBERNETES_EXEC_INFO": odd], exits: 7)
        try home.run(["token", "--format", "exec-credential"], environment: info(chosen))
        try home.run(["kubernetes"], environment: info(#"{"account":"nobody"}"#), exits: 3)
        try home.run(["kubernetes", "--account", "alice@example.com"], environment: info(#"{"account":"nobody"}"#))
        try home.run(["kubernetes"], environment: info(#"{"acount":"alice"}"#), exits: 2)
        let idToken = try home.run(["kubernetes", "--id-token"])
        #expect(
            try JSONValue.parse(idToken.standardOutput).object?["status"]?.object?["token"]?.string
                == home.run(["token", "--id-token"]).line)
    }

    // MARK: az

    @Test func `Azure's libraries accept the output of the Azure CLI`() throws {
        let (home, _, token) = try wellSetUp()
        let object = try #require(try home.json(["az", "account", "get-access-token", "-o", "json"]).object)
        #expect(object.keys == ["accessToken", "expiresOn", "expires_on", "subscription", "tenant", "tokenType"])
        #expect(object["accessToken"]?.string == token)
        #expect(object["tokenType"]?.string == "Bearer")
        #expect(object["tenant"]?.string == DemoTenant.tenant)
        let end = try #require(object["expires_on"]?.integer)
        let local = try ChildProcess("/bin/date", ["-d", "@\(end)", "+%F %T.000000"]).run().line
        #expect(object["expiresOn"]?.string == local)
        let words = ["az", "account", "get-access-token"]
        #expect(try home.run(words + ["--query", "accessToken", "-o", "tsv"]).standardOutput == token + "\n")
        #expect(try home.run(words + ["--query", "accessToken"]).standardOutput == "\"\(token)\"\n")
        #expect(
            try home.run(words + ["-t", DemoTenant.tenant, "--query", "tenant", "-o", "tsv"]).line
                == DemoTenant.tenant)
        try home.run(words + ["-t", "another.example"], exits: 3)
        try home.run(words + ["--query", "[accessToken]"], exits: 2)
        try home.run(words + ["--resource", "https://r", "--scope", "s"], exits: 2)
    }

    // MARK: oidc-token

    @Test func `scripts for oidc-agent go on working`() throws {
        let (home, tenant, token) = try wellSetUp()
        let name = DemoTenant.typeName
        let issuer = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["issuer"]?.string)
        let end = try #require(try home.json(["token", "--format", "json"]).object?["expires_on"]?.integer)
        func said(_ words: String...) throws -> String { try home.run(["oidc-token"] + words).standardOutput }
        #expect(try said(name) == token + "\n")
        #expect(try said("-t", "60", name) == token + "\n")
        #expect(try said("-a", name) == "\(token)\n\(issuer)\n\(end)\n")
        #expect(try said("-i", name) == issuer + "\n")
        #expect(try said("-e", name) == "\(end)\n")
        #expect(
            try said("-c", name)
                == "OIDC_AT='\(token)'; export OIDC_AT;\nOIDC_ISS='\(issuer)'; export OIDC_ISS;\n"
                + "OIDC_EXP='\(end)'; export OIDC_EXP;\n")
        #expect(try said("--token=AT", "-eEND", name) == "AT='\(token)'; export AT;\nEND='\(end)'; export END;\n")
        #expect(try said("--bearer", name) == "Bearer \(token)\n")
        #expect(try said("--auth-header", name) == "Authorization: Bearer \(token)")
        #expect(try said("--id-token", "--name", "script", name) == home.run(["token", "--id-token"]).line + "\n")
        let requests = tenant.provider.counters.tokenRequests
        #expect(try said("-f", name) != token + "\n")
        #expect(tenant.provider.counters.tokenRequests == requests + 1)
        try home.run(["oidc-token", "https://issuer.example/"], exits: 2)
        // An issuer's types that see the same accounts count as one; also by the program's name.
        #expect(try said(issuer) == home.run(["token", "--type", name]).line + "\n")
        try tenant.define("Twin", at: home)
        #expect(try said(issuer) == home.run(["token", "--type", name]).line + "\n")
        let linked = try ChildProcess(try link("oidc-token", at: home), [issuer], environment: home.environment)
            .run()
        #expect(try linked.standardOutput == home.run(["token", "--type", name]).line + "\n")
        try home.run(["oidc-token", "--token=1X", name], exits: 2)
    }
}
