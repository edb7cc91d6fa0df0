import Foundation
import StrictJSON
import TestSupport
import Testing

/// `setup` with the programs that are there.
@Suite struct `Setting other programs up` {
    let home: Home
    let tenant: DemoTenant
    let token: String
    static let type = DemoTenant.typeName

    init() throws {
        home = try Home()
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        token = try home.run(["token"]).line
    }

    func setup(_ words: String..., exits status: Int32 = 0) throws -> ChildProcess.Outcome {
        try home.run(["setup"] + words, exits: status)
    }

    @Test func `git is set up, proven, and taken back byte for byte`() throws {
        let own = "[user]\n\tname = Ada"
        try home.write(own, to: ".gitconfig")
        let arguments = ["setup", "git", "--host", "git.example.com:8443", "--type", Self.type]
        let missing = try home.run(arguments, exits: 2)
        #expect(
            missing.standardError.contains(#""rules": [{"host": "git.example.com:8443", "type": "B2C_Acccount"}]"#))
        try home.run(arguments + ["--dry-run"], exits: 2)
        let shown = try home.run(arguments + ["--rule", "--dry-run"])
        #expect(shown.standardOutput.contains(#"[credential "https://git.example.com:8443"]"#))
        #expect(home.text(of: ".gitconfig") == own && home.text(of: "config/credmgr/config.json") == nil)

        let done = try home.run(arguments + ["--rule"])
        #expect(done.standardError.contains("git got a token with this setup"))
        var environment = home.environment
        environment["GIT_TERMINAL_PROMPT"] = "0"
        let filled = try ChildProcess("git", ["credential", "fill"], environment: environment)
            .run(input: "url=https://git.example.com:8443/x\n\n")
        #expect(filled.standardOutput.contains("password=\(token)"))
        let once = home.text(of: ".gitconfig")
        try home.run(arguments + ["--rule"])
        #expect(home.text(of: ".gitconfig") == once)
        #expect(try home.run(["setup", "--list"]).standardOutput.contains("git git.example.com:8443\t"))

        try home.run(arguments + ["--rule", "--undo"])
        #expect(home.text(of: ".gitconfig") == own && home.text(of: "config/credmgr/config.json") == nil)
        #expect(
            try home.run(arguments + ["--rule", "--undo"]).standardError.contains("no changes of this setup"))
    }

    @Test func `later additions of the user stay`() throws {
        let arguments = ["setup", "git", "--host", "git.example.com", "--type", Self.type, "--rule", "--no-verify"]
        try home.run(arguments)
        let added = try #require(home.text(of: ".gitconfig")) + "[user]\n\tname = Ada\n"
        try home.write(added, to: ".gitconfig")
        try home.run(arguments + ["--undo"])
        #expect(home.text(of: ".gitconfig") == "[user]\n\tname = Ada\n")
    }

    @Test(arguments: ["docker", "pip", "cargo", "terraform", "bazel", "go", "npm"])
    func `each program that asks by host is listed, and taken back`(_ program: String) throws {
        // A file that exists and is empty stays.
        for file in [".npmrc", ".terraformrc", ".docker/config.json"] { try home.write("", to: file) }
        let before = home.files
        let arguments = [
            "setup", program, "--host", "pkg.example.com", "--type", Self.type, "--rule", "--no-verify",
        ]
        let done = try home.run(arguments)
        #expect(done.standardError.contains("not verified by a call"))
        #expect(!done.standardOutput.contains(token))
        #expect(try home.run(["setup", "--list"]).standardOutput.contains(program))
        try home.run(arguments + ["--undo"])
        let after = home.files
        for (name, content) in before { #expect(after[name] == content || name.contains("/locks/"), "\(name)") }
        for name in after.keys where before[name] == nil {
            #expect(name.hasPrefix("run/"), "\(name)")
        }
    }

    @Test func `mail programs, clouds and the session`() throws {
        try home.run(["setup", "neomutt", "--type", Self.type])
        #expect(
            home.text(of: "config/neomutt/neomuttrc")?.contains("set imap_oauth_refresh_command=\"") == true)
        try home.run(["setup", "msmtp", "--type", Self.type, "--host", "smtp.example.com", "--no-verify"])
        let account = try #require(home.text(of: "config/msmtp/config"))
        #expect(account.contains("user alice@example.com\n") && account.contains("port 587\n"))
        try home.run(["setup", "mbsync", "--type", Self.type, "--host", "imap.example.com", "--no-verify"])
        try home.run(["setup", "azure", "--type", Self.type])
        try home.run(["setup", "google", "--type", Self.type, "--audience", "//iam.googleapis.com/x"])
        #expect(home.text(of: "config/credmgr/google-\(Self.type).json")?.contains("external_account") == true)
        try home.run(["setup", "aws", "--type", Self.type, "--role-arn", "arn:aws:iam::1:role/x", "--no-verify"])
        try home.run(["setup", "timer", "--no-verify"])
        try home.run(["setup", "token-socket", "--type", Self.type, "--no-verify"])
        let service = home.text(of: "config/systemd/user/credmgr-token-\(Self.type)@.service")
        #expect(service?.contains(" --no-input --quiet token --type \(Self.type)\n") == true)
        try home.run(["setup", "redirect-handler", "--scheme", "com.example.app", "--no-verify"])
        let list = try home.run(["setup", "--list"]).standardOutput
        for name in [
            "neomutt", "msmtp", "mbsync", "azure", "google", "aws", "timer", "redirect-handler com.example.app",
            "token-socket \(Self.type)",
        ] {
            #expect(list.contains(name), "\(name)")
        }
        try home.run(["setup", "neomutt", "--type", Self.type, "--undo"])
        #expect(home.text(of: "config/neomutt/neomuttrc") == nil)
    }

    /// Every program: its arguments, and the user's file that credmgr writes, if there is one.
    static let every: [(words: [String], file: String?)] = [
        (["git", "--host", "pkg.example.com:8443", "--rule"], ".gitconfig"),
        (["docker", "--host", "pkg.example.com:8443", "--rule"], ".docker/config.json"),
        (["kubectl"], ".kube/config"), (["pip", "--host", "pkg.example.com", "--rule"], "config/pip/pip.conf"),
        (["cargo", "--host", "pkg.example.com", "--rule"], ".cargo/config.toml"),
        (["terraform", "--host", "pkg.example.com", "--rule"], ".terraformrc"),
        (["bazel", "--host", "pkg.example.com:8443", "--rule"], ".bazelrc"),
        (["go", "--host", "pkg.example.com", "--rule"], "config/go/env"),
        (["npm", "--host", "pkg.example.com", "--rule"], ".npmrc"),
        (["aws", "--role-arn", "arn:aws:iam::1:role/x"], ".aws/config"),
        (["google", "--audience", "//iam.googleapis.com/x"], nil), (["azure"], nil),
        (["neomutt"], "config/neomutt/neomuttrc"),
        (["msmtp", "--host", "smtp.example.com:587"], "config/msmtp/config"),
        (["mbsync", "--host", "imap.example.com"], ".mbsyncrc"), (["timer"], nil), (["token-socket"], nil),
        (["redirect-handler", "--scheme", "com.example.app"], nil),
    ]

    @Test(arguments: every.map(\.words))
    func `each program is shown, written once, listed, and taken back byte for byte`(_ words: [String]) throws {
        let file = Self.every.first { $0.words == words }?.file
        let isJSON = file?.hasSuffix(".json") == true, isYAML = file == ".kube/config"
        let own =
            isJSON ? "{ \"auths\": {} }" : isYAML ? "kind: Config\nusers:\n- name: x\n" : "# mine, without an end"
        if let file { try home.write(own, to: file) }
        try home.write("{\n  \"min_valid\": 60\n}\n", to: "config/credmgr/config.json")
        func kept() -> [String: Data] {
            home.files.filter { !$0.key.contains("/locks/") && !$0.key.hasPrefix("run/") }
        }
        let arguments = ["setup"] + words + ["--type", Self.type], before = kept()
        if words.contains("--rule") {
            for more in [[], ["--dry-run"]] {
                let missing = try home.run(arguments.filter { $0 != "--rule" } + more, exits: 2)
                #expect(missing.standardError.contains("\"rules\": [{\"host\": \"\(words[2])\", \"type\": "))
            }
            #expect(kept() == before, "without a rule nothing is written")
        }
        #expect(!(try home.run(arguments + ["--dry-run"]).standardOutput.isEmpty))
        #expect(kept() == before, "shown only")
        try home.run(arguments + ["--no-verify"])
        let once = kept()
        #expect(once != before)
        try home.run(arguments + ["--no-verify"])
        #expect(kept() == once, "never a second entry")
        #expect(try home.run(["setup", "--list"]).standardOutput.contains(words[0]))
        try home.run(arguments + ["--undo"])
        #expect(kept() == before)
        // And with something that was added since.
        guard let file, !isJSON else { return }
        try home.run(arguments + ["--no-verify"])
        let added = isYAML ? "- name: y\n" : "# added\n"
        try home.write(try #require(home.text(of: file)) + added, to: file)
        try home.run(arguments + ["--undo"])
        let left = try #require(home.text(of: file))
        #expect(
            left.hasPrefix(own) && left.hasSuffix(added) && left.utf8.count <= own.utf8.count + 1 + added.utf8.count
        )
    }

    @Test(.needs(Need("systemd-analyze", isDemanded: false, isThere: ProgramScene.has("systemd-analyze"))))
    func `the units are walled in as those of the packages`() throws {
        try home.run(["setup", "timer", "--no-verify"])
        try home.run(["setup", "token-socket", "--type", Self.type, "--no-verify"])
        let packaged = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("scripts/packaging/credmgr-refresh.service"),
            encoding: .utf8)
        let walls = packaged.split(separator: "\n").drop { !$0.hasPrefix("Environment=") }.filter {
            !$0.hasPrefix("#")
        }
        #expect(walls.count > 15)
        let folder = "config/systemd/user/"
        for unit in ["credmgr-refresh.service", "credmgr-token-\(Self.type)@.service"] {
            let lines = try #require(home.text(of: folder + unit)).split(separator: "\n")
            #expect(walls.allSatisfy(lines.contains), "\(unit)")
            let judged = try ChildProcess(
                "systemd-analyze",
                ["security", "--offline=yes", "--threshold=50", "--no-pager", home.path + "/" + folder + unit],
                environment: home.environment
            ).run(seconds: 60)
            #expect(judged.exitStatus == 0, "\(judged.standardOutput.suffix(300))\(judged.standardError)")
        }
    }

    /// A token that lives five minutes is found fresh at any moment: each run leaves it valid until the next one is
    /// done.
    @Test(arguments: ["credmgr-refresh", "credmgr-refresh@", nil])
    func `the timer's period and the --min-valid of its service fit each other`(_ packaged: String?) throws {
        if packaged == nil { try home.run(["setup", "timer", "--no-verify"]) }
        func text(_ kind: String) throws -> String {
            guard let packaged else {
                return try #require(home.text(of: "config/systemd/user/credmgr-refresh.\(kind)"))
            }
            return try String(
                contentsOfFile: #filePath.split(separator: "/Tests/")[0] + "/scripts/packaging/\(packaged).\(kind)",
                encoding: .utf8)
        }
        let timer = try text("timer")
        func seconds(_ key: String) throws -> Int {
            let line = try #require(timer.split(separator: "\n").first { $0.hasPrefix(key + "=") })
            let span = try #require(line.wholeMatch(of: /\w+=(\d+)(s|min)/)).output
            return try #require(Int(span.1)) * (span.2 == "min" ? 60 : 1)
        }
        let period = try seconds("OnUnitActiveSec") + seconds("RandomizedDelaySec") + seconds("AccuracySec")
        let service = try text("service")
        let start = try #require(service.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        let asked = try #require(start.wholeMatch(of: /.* --min-valid (\d+)/)).output.1
        let minimum = try #require(Int(asked))
        let (margin, run) = (60, 20)
        #expect(minimum >= period + margin + run)
        #expect(minimum < 300, "a fresh token that lives five minutes would have each run warn")
    }

    @Test func `an invalid setup reports the reason`() throws {
        let unknown = try home.run(["setup", "gti"], exits: 2)
        #expect(unknown.standardError.contains("did you mean 'git'?") && unknown.standardError.contains("docker"))
        try home.run(["setup"], exits: 2)
        try home.run(["setup", "git"], exits: 2)
        for host in ["https://x", "a b", "x/y", "x:99999", "a@b", "-x", "x\ny", ""] {
            try home.run(["setup", "git", "--type", Self.type, "--rule", "--host=\(host)"], exits: 2)
        }
        try home.run(["setup", "aws", "--type", Self.type], exits: 2)
        let listed = "{\"kind\": \"Config\", \"users\": []}\n"
        for text in [listed, "users: []\n", "users:\n  - name: x\n"] {
            try home.write(text, to: ".kube/config")
            let refused = try home.run(["setup", "kubectl", "--type", Self.type], exits: 2)
            #expect(refused.standardError.contains("kubectl config set-credentials"))
            #expect(home.text(of: ".kube/config") == text)
        }
        for role in ["x\"y", "bogus", "arn:aws:iam::1:user/x", "arn:aws:iam::1:role/", "arn:aws:sts::1:role/x"] {
            try home.run(["setup", "aws", "--type", Self.type, "--no-verify", "--role-arn", role], exits: 2)
        }
        try home.write("not ours", to: "config/systemd/user/credmgr-refresh.service")
        try home.run(["setup", "timer", "--no-verify"], exits: 2)
        #expect(home.text(of: "config/systemd/user/credmgr-refresh.service") == "not ours")
    }

    // MARK: Taking back

    @Test(arguments: ["pip", "cargo", "terraform", "docker", "go", "npm", "bazel", "aws", "neomutt", "git"])
    func `no file and no folder is left, and none that was there goes`(_ program: String) throws {
        let empty = home.path + "/.cargo"
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        let before = try tree()
        try home.run(arguments(program))
        #expect(try tree() != before)
        try home.run(arguments(program) + ["--undo", "--dry-run"])
        try home.run(arguments(program) + ["--undo"])
        #expect(try tree() == before)
    }

    @Test func `an entry that two servers share stays for the other one`() throws {
        let before = try tree()
        for program in ["pip", "docker", "bazel", "git"] {
            let one = arguments(program)
            let two = one.map { $0 == "pkg.example.com" ? "two.example.com" : $0 }
            try home.run(one)
            try home.run(two)
            let said = try home.run(one + ["--undo"]).standardError
            #expect(program == "git" || said.contains(": \(program) two.example.com also uses it"))
            #expect(!said.contains("no changes of this setup"))
            #expect(try home.run(["setup", "--list"]).standardOutput.contains(program))
            try home.run(two + ["--undo"])
            let after = try tree()
            #expect(after == before, "\(program): \(after.keys.filter { after[$0] != before[$0] })")
        }
    }

    @Test func `a program that is not let in leaves all as it was`() throws {
        let own = "[user]\n\tname = Ada"
        try home.write(own, to: ".gitconfig")
        try home.write("#!/bin/sh\nexit 1\n", to: "bin/git", mode: 0o700)
        var environment = home.environment
        environment["PATH"] = "\(home.path)/bin:\(environment["PATH"] ?? "")"
        let before = try tree(), arguments = arguments("git").filter { $0 != "--no-verify" }
        let failed = try home.run(arguments, environment: environment, exits: 1)
        #expect(failed.standardError.contains("reverted the changes") && failed.standardOutput.isEmpty)
        #expect(try tree() == before)
        // If the program has written meanwhile, its text stays, and --undo takes it out.
        let script = "#!/bin/sh\nprintf '# mine\\n' >>\"$HOME/.gitconfig\"\nexit 1\n"
        try home.write(script, to: "bin/git", mode: 0o700)
        let changed = try home.run(arguments, environment: environment, exits: 1)
        #expect(changed.standardError.contains("use --undo to remove its changes"))
        #expect(home.text(of: ".gitconfig")?.contains("helper = \"!") == true)
        try home.run(arguments + ["--undo"])
        #expect(home.text(of: ".gitconfig") == own + "\n# mine\n")
    }

    @Test func `the type need not be said, and may be gone`() throws {
        let before = try tree()
        for words in [
            ["git", "--host", "git.example.com", "--rule"], ["docker", "--host", "r.example.com", "--rule"],
            ["kubectl"],
        ] {
            try home.run(["setup"] + words + ["--no-verify"])
            try home.run(["setup"] + words + ["--undo"])
            #expect(try tree() == before, "\(words)")
        }
        let definition = "config/credmgr/types/\(Self.type).json"
        let path = home.path + "/" + definition
        try home.run(["setup", "kubectl", "--no-verify"])
        try home.run(["setup", "git", "--host", "git.example.com", "--rule", "--no-verify"])
        let text = try #require(home.text(of: definition))
        try FileManager.default.removeItem(atPath: path)
        try home.run(["setup", "kubectl", "--undo"])
        try home.run(["setup", "git", "--host", "git.example.com", "--rule", "--undo"])
        try home.write(text, to: definition)
        #expect(try tree() == before)
        #expect(try home.run(["setup", "kubectl", "--undo"]).standardError.contains("no changes of this setup"))
        // Of two it has to be said which.
        try home.run(["types", "add", "Other", "--preset", "github", "--client-id", "c"])
        for type in [Self.type, "Other"] { try home.run(["setup", "kubectl", "--type", type, "--no-verify"]) }
        let asked = try home.run(["setup", "kubectl", "--undo"], exits: 2).standardError
        #expect(asked.contains("--type is required") && asked.contains("Other") && asked.contains(Self.type))
    }

    // MARK: Where

    @Test func `the variables of git and pip name their files`() throws {
        var environment = home.environment
        environment["GIT_CONFIG_GLOBAL"] = home.path + "/my/git"
        environment["PIP_CONFIG_FILE"] = home.path + "/my/pip.conf"
        let before = try tree()
        try home.run(arguments("git"), environment: environment)
        #expect(home.text(of: "my/git")?.contains("helper") == true && home.text(of: ".gitconfig") == nil)
        // pip reads its own file as long as that of the variable is not there.
        try home.run(arguments("pip"), environment: environment)
        #expect(home.text(of: "config/pip/pip.conf") != nil && home.text(of: "my/pip.conf") == nil)
        let list = try home.run(["setup", "--list"]).standardOutput
        #expect(list.contains("git pkg.example.com\t\(home.path)/my/git\n"))
        // And is found without the variable.
        for program in ["pip", "git"] { try home.run(arguments(program) + ["--undo"]) }
        #expect(try tree() == before)
        try home.write("", to: "my/pip.conf")
        try home.run(arguments("pip"), environment: environment)
        #expect(home.text(of: "my/pip.conf")?.contains("subprocess") == true)
    }

    @Test func `docker's note is for the link that is made, and the list is for programs, too`() throws {
        #expect(try home.run(arguments("docker")).standardError.contains("must be in PATH"))
        var environment = home.environment
        environment["PATH"] = "\(home.path)/.local/bin:\(environment["PATH"] ?? "")"
        try home.run(arguments("docker") + ["--undo"], environment: environment)
        #expect(!FileManager.default.fileExists(atPath: home.path + "/.local/bin/docker-credential-credmgr"))
        try home.write("#!/bin/sh\n", to: "bin/docker-credential-credmgr", mode: 0o700)
        environment["PATH"] = "\(home.path)/bin:\(environment["PATH"] ?? "")"
        let said = try home.run(arguments("docker"), environment: environment).standardError
        #expect(!said.contains("must be in PATH"))

        let rows = try JSONValue.parse(try home.run(["setup", "--list", "--json"]).standardOutput).array
        #expect(rows?.count == 1)
        #expect(rows?.first?.object?["program"] == "docker" && rows?.first?.object?["for"] == "pkg.example.com")
        #expect(rows?.first?.object?["file"]?.string == home.path + "/.docker/config.json")
        try home.run(arguments("docker") + ["--json"], exits: 2)
    }

    // MARK: What the programs make of it

    func run(_ words: String...) throws {
        var environment = home.environment
        environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        environment["NPM_TOKEN"] = "x"
        let outcome = try ChildProcess("env", words, environment: environment).run(seconds: 60)
        #expect(outcome.exitStatus == 0, "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test(
        .needs(Need("docker", isDemanded: false, isThere: ProgramScene.has("docker"))))
    func `docker's own changes do not hide the entries of setup`() throws {
        try home.write("{\"auths\": {\"other.example.com\": {\"auth\": \"eDp5\"}}}", to: ".docker/config.json")
        try home.run(arguments("docker"))
        try run("docker", "logout", "other.example.com")
        #expect(home.text(of: ".docker/config.json")?.contains("\n\t\"credHelpers\"") == true)
        let rewritten = home.text(of: ".docker/config.json")
        try home.run(arguments("docker"))
        #expect(home.text(of: ".docker/config.json") == rewritten)
        try home.run(arguments("docker") + ["--undo"])
        #expect(home.text(of: ".docker/config.json") == "{\n\t\"auths\": {}\n}")
        #expect(!(try home.run(["setup", "--list"]).standardOutput.contains("docker")))
    }

    @Test(
        .needs(Need("npm of Debian 12 brings 300 packages", isDemanded: false, isThere: ProgramScene.has("npm"))))
    func `npm's own changes do not hide the entries of setup`() throws {
        try home.run(arguments("npm"))
        try run("npm", "config", "set", "fund", "false")
        #expect(home.text(of: ".npmrc") == "//pkg.example.com/:_authToken=${NPM_TOKEN}\nfund=false\n")
        #expect(try home.run(["setup", "--list"]).standardOutput.contains("npm pkg.example.com\t"))
        try home.run(arguments("npm"))
        #expect(home.text(of: ".npmrc")?.components(separatedBy: "_authToken").count == 2)
        try run("npm", "config", "set", "fund", "true")
        try home.run(arguments("npm") + ["--undo"])
        #expect(home.text(of: ".npmrc") == "fund=true\n")
    }
}
