import Foundation
import Testing

@Suite struct `Bad input` {
    private static let long = String(repeating: "a", count: 129)

    @Test(arguments: [
        ["tokn"], ["token", "--frmat", "json"], ["types", "shw", "X"], ["login", "--typ", "X"],
        ["accounts", "--jsn"], ["token", "--format", "jsn"], ["store", "statu"],
    ])
    func `A slip gets its suggestion`(words: [String]) throws {
        let home = try Home()
        #expect(try home.run(words, exits: 2).standardError.contains("did you mean"))
        #expect(home.files.isEmpty)
    }

    @Test(arguments: [
        ["token", "--type", "a/b"], ["token", "--type", ".."], ["token", "--type", "a b"],
        ["token", "--type", long], ["token", "--type", ""], ["types", "show", "../x"],
        ["types", "remove", "../x"], ["types", "add", "-", "--client-id", "x", "--issuer", "https://i.example"],
        ["types", "add", "a/b", "--client-id", "x", "--issuer", "https://i.example"],
        ["types", "add", long, "--client-id", "x", "--issuer", "https://i.example"],
        ["types", "add", "T", "--client-id", "x", "--issuer", "https://i.example", "--keychain-group", "../x"],
        ["accounts", "--group", "../x"], ["accounts", "--group", "a/b"], ["accounts", "--group", long],
        ["login"], ["login", "--type", "Nowhere"], ["types", "show", "Nowhere", "--json"],
        ["token", "--min-valid", "-1"], ["token", "--min-valid", "99999999999999999999"],
        ["token", "--min-valid", "x"],
        ["--timeout", "0", "accounts"], ["--timeout", "x", "accounts"], ["accounts", "--store", "cloud"],
        ["request", "GET"], ["request", "G T", "/"], ["label", "x"], ["use"], ["logout"], ["completion", "csh"],
        ["types", "add", "T", "--client-id", "x"], ["types", "add", "T", "--issuer", "https://i.example"],
        ["types", "add", "T", "--client-id", "x", "--issuer", "http://i.example"],
        ["types", "add", "T", "--client-id", "x", "--issuer", "https://i.example", "--param", "x=y"],
        ["types", "add", "T", "--client-id", "x", "--issuer", "https://i.example", "--param", "authorize:state=y"],
        ["types", "import"], ["types", "import", "/nowhere"], ["types", "import", "/"], ["types", "import", "."],
        ["login", "--type", "X", "--print-url", "--complete", "-"],
        ["types", "add", "T", "--adapter", "azure-b2c", "--register"],
        ["types", "add", "T", "--adapter", "azure-b2c", "--register", "--issuer", "https://i.invalid"],
    ])
    func `An invalid command line is exit 2 and leaves no file`(words: [String]) throws {
        let home = try Home()
        try home.run(words, exits: 2)
        #expect(home.files.isEmpty)
    }

    @Test func `A file that cannot be used is reported with the reason`() throws {
        let home = try Home()
        let words = try home.run(["exec", "--", "/etc/passwd"], exits: 2).standardError
        #expect(words.contains("'/etc/passwd' is not an executable program"))
        let link = try home.write("", to: "config/credmgr/types/Ln.json")
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nowhere.json")
        let said = try home.run(["types", "show", "Ln"], exits: 2).standardError
        #expect(said.contains("\(link) is a broken symbolic link"))
        #expect(!said.contains("did you mean"))
    }

    @Test(arguments: [
        (["accounts", "extra"], "unexpected argument 'extra'"),
        (["types", "add", "a/b"], "'a/b' is not a valid name of an account type"),
        (["accounts", "--group", "a/b"], "'a/b' is not a valid name of a keychain group"),
        (["types", "add", "T", "--client-id", "x", "--issuer", "ftp://x"], "key 'issuer' is not an https URL"),
        (["types", "add", "T", "--client-id", "x"], "a provider is required"),
        (
            ["types", "add", "T", "--adapter", "azure-b2c", "--register"],
            "the provider Azure AD B2C does not support dynamic client registration"
        ),
        (
            ["login", "--type", "X", "--print-url", "--complete", "-"],
            "--print-url and --complete require two separate calls"
        ),
    ])
    func `An error about an invalid command line quotes the user's words`(words: [String], message: String) throws {
        let error = try Home().run(words, exits: 2).standardError
        #expect(error.hasPrefix("credmgr: error: \(message)\n"))
    }

    @Test(arguments: [
        ["use", "nobody"], ["label", "nobody", "x"], ["logout", "--account", "nobody"], ["token"], ["which"],
        ["claims", "--json"], ["request", "GET", "/"], ["token", "--account", "nobody"],
    ])
    func `No signed-in user is exit 3`(words: [String]) throws { try Home().run(words, exits: 3) }

    @Test(arguments: ["CREDMGR_TYPE", "CREDMGR_GROUP", "CREDMGR_STORE"])
    func `Variables are held to the same rules`(variable: String) throws {
        try Home().run(["token"], environment: [variable: "../x"], exits: 2)
    }

    @Test(arguments: [
        (#"{"stroe":"file"}"#, "stroe"), (#"{"store":"cloud"}"#, "store"), ("{", "config.json"),
        ("[]", "config.json"),
        (#"{"cache":"yes"}"#, "cache"), (#"{"min_valid":-1}"#, "min_valid"),
        (#"{"store":"file","store":"file"}"#, "twice"),
        (#"{"rules":[{"directry":"~"}]}"#, "directry"), (#"{"default_group":"a/b"}"#, "default_group"),
    ])
    func `A mistake in config.json is named with its file`(text: String, key: String) throws {
        let home = try Home()
        let file = try home.write(text, to: "config/credmgr/config.json")
        let error = try home.run(["which"], exits: 2).standardError
        #expect(error.contains(file) && error.contains(key))
        // A command that needs no key of the file only warns.
        let warning = try home.run(["accounts"]).standardError
        #expect(warning.contains(file) && warning.contains(key))
    }

    @Test(arguments: [
        (#"{"client_di":"x"}"#, "did you mean"), (#"{"adapter":"oauth","client_id":"x"}"#, "adapter"),
        (#"{"adapter":"oauth2"}"#, "client_id"), ("", "JSON"),
        (#"{"adapter":"oauth2","client_id":7}"#, "client_id"),
        (#"{"adapter":"oauth2","client_id":"x","issuer":"ftp://x"}"#, "issuer"),
        (#"{"adapter":"oauth2","client_id":"x","issuer":"https://i.example","client_id":"y"}"#, "twice"),
        (#"{"adapter":"azure-b2c","client_id":"x"}"#, "authority"),
    ])
    func `A mistake in a type's file is named with its file`(text: String, word: String) throws {
        let home = try Home()
        let file = try home.write(text, to: "config/credmgr/types/Bad.json")
        let error = try home.run(["token", "--type", "Bad"], exits: 2).standardError
        #expect(error.contains(word))
        #expect(error.contains(file) || error.contains("'Bad'") || error.contains("type Bad"))
        // The others still work, and it can be removed.
        try home.write(
            #"{"adapter":"oauth2","client_id":"x","issuer":"https://i.example"}"#,
            to: "config/credmgr/types/Good.json")
        try home.run(["token", "--type", "Good"], exits: 3)
        #expect(try home.run(["types"]).standardOutput.contains("Good"))
        try home.run(["types", "remove", "Bad"])
    }

    @Test func `A secret in a file that others can read is refused`() throws {
        let home = try Home()
        let text =
            #"{"adapter":"oauth2","client_id":"x","issuer":"https://i.example","client_secret":"s3cret-word"}"#
        let file = try home.write(text, to: "config/credmgr/types/Loose.json", mode: 0o644)
        let error = try home.run(["token", "--type", "Loose"], exits: 2).standardError
        #expect(error.contains("chmod 600") && error.contains(file))
        #expect(!error.contains("s3cret-word"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        try home.run(["token", "--type", "Loose"], exits: 3)
        #expect(!(try home.run(["types", "show", "Loose"]).standardOutput.contains("s3cret-word")))
        #expect(!(try home.run(["types", "show", "Loose", "--json"]).standardOutput.contains("s3cret-word")))
    }

    @Test func `A folder or a pipe in a file's place is no file`() throws {
        let home = try Home()
        try FileManager.default.createDirectory(
            atPath: home.path + "/config/credmgr/types/Folder.json", withIntermediateDirectories: true)
        #expect(mkfifo(home.path + "/config/credmgr/types/Pipe.json", 0o600) == 0)
        #expect(mkfifo(home.path + "/pipe", 0o600) == 0)
        for name in ["Folder", "Pipe"] { #expect(try status(home, ["token", "--type", name]) == 2) }
        #expect(try status(home, ["types", "import", home.path + "/pipe"]) == 2)
    }

    private func status(_ home: Home, _ words: [String]) throws -> Int32 {
        let outcome = try home.start(words).outcome()
        #expect(outcome.standardError.hasPrefix("credmgr: error: "))
        return outcome.exitStatus
    }

    @Test func `Help is a result, for every command`() throws {
        let home = try Home()
        let all = try home.run(["--help"])
        #expect(all.standardError.isEmpty && all.standardOutput.contains("credmgr"))
        for words in [
            ["types"], ["types", "show"], ["types", "add"], ["types", "import"], ["types", "remove"], ["login"],
            ["accounts"], ["use"], ["label"], ["which"], ["token"], ["claims"], ["request"], ["logout"], ["store"],
            ["store", "status"], ["demo"], ["completion"], ["help"],
        ] {
            let help = try home.run(words + ["--help"])
            #expect(help.standardOutput.contains(words.joined(separator: " ")), "\(words)")
            #expect(help.standardError.isEmpty)
            #expect(try home.run(["-h"] + words).standardOutput == help.standardOutput)
            #expect(try home.run(["help"] + words).standardOutput == help.standardOutput)
        }
        #expect(try home.run(["--version"]).standardOutput.hasPrefix("credmgr "))
        for shell in ["bash", "zsh", "fish"] { try home.run(["completion", shell]) }
        #expect(home.files.isEmpty)
    }
}
