import CommandLine
import Commands
import CredentialCore
import Foundation
import Testing

/// The commands in the sources, in hints before all. Each is one that this program has, complete, without a word
/// that the reader would have to replace, and each that can be shown is listed here with the test that runs it.
@Suite struct `Commands in messages` {
    /// A command as it is in a string of the sources, `…` for inserted values.
    struct Written: Hashable, CustomStringConvertible {
        let file: String
        let text: String
        var description: String { "\(file): \(text)" }
    }

    /// The values that replace `…`, by the word in front.
    private static let values = ["--to": "file"]

    @Test func `Each command is complete`() throws {
        let written = try Self.written()
        #expect(written.count > 50, "the sources are where they are looked for")
        for command in written {
            // Two commands of a sign-in in two halves.
            for part in command.text.components(separatedBy: " && ") where part.hasPrefix("credmgr ") {
                var words: [String] = []
                for word in Self.words(of: part).dropFirst() {
                    words.append(word == "…" ? words.last.flatMap { Self.values[$0] } ?? "x" : word)
                }
                // Some lines go on after the end of the string, others do not.
                let isWhole = (try? ArgumentParser(.standard).parse(words)) != nil
                let isBegun = words.last == "x" && (try? ArgumentParser(.standard).parse(words.dropLast())) != nil
                #expect(isWhole || isBegun, "\(command)")
            }
            let placeholder = Self.words(of: command.text).first { word in
                word.count > 1 && word.allSatisfy(\.isUppercase) && !["GET", "POST"].contains(word)
            }
            #expect(placeholder == nil, "\(command) is for the reader to complete")
        }
    }

    @Test func `Each hint is listed with the state that makes it`() throws {
        let examples = CommandTable.standard.commands.flatMap(\.examples).map(\.line)
        let found = Set(try Self.written().map(\.text))
        let listed = Set(Self.states.map(\.command))
        let missing = found.subtracting(listed).filter { text in !examples.contains { $0.contains(text) } }
        #expect(missing.sorted() == [], "list it, and run it in HintTests")
        #expect(listed.subtracting(found).sorted() == [], "no message has it any more")
        #expect(Self.states.allSatisfy { !$0.state.isEmpty })
    }

    @Test func `No hint has an option with a placeholder`() throws {
        // Values that only the reader knows: a name, a secret, a file of the reader.
        let known = [
            "--username NAME --password-file FILE", "use --passphrase-file FILE",
            "name the account with --login-hint NAME",
            "--keep requires --output FILE, and neither can be used with --introspect",
            "--keep needs --output FILE", "--remote-home DIRECTORY",
        ]
        let pattern = try Regex("--[a-z-]+[ =][A-Z]{2,}").matchingSemantics(.unicodeScalar)
        for (file, text) in try Self.strings()
        where file != "help" && text.contains(pattern) && !text.hasPrefix("usage: ") {
            let isKnown = known.contains(text) || Self.helpFiles.contains { file.hasSuffix($0) }
            #expect(isKnown, "\(file): \(text)")
        }
    }

    /// The files whose strings are help, which explains its placeholders.
    private static let helpFiles = [
        "MCPCommand.swift", "Explanation.swift", "HelpTopic.swift", "AccountsImportCommand.swift",
        "LoginCommand.swift", "CredentialImporters.swift",
        "Preset+Outlook.swift", "Preset+Gmail.swift", "Preset+AzureB2C.swift", "ExecCommand.swift",
        "SetupRecipe+Hosts.swift", "SetupRecipe+Mail.swift",
    ]

    // MARK: The list

    /// Every command of a message, and the cause of the message: a test of `HintTests` unless another is named.
    static let states: [(command: String, state: String)] = [
        ("credmgr --help", "A slip on the command line"),
        ("credmgr accounts", "Without types and accounts, Two accounts of one type, Nothing named to sign out"),
        ("credmgr accounts export --help", "TransferTests: a wrong passphrase or a changed file gives nothing"),
        ("credmgr aws --help", "Without types and accounts"),
        (
            "credmgr claims --access-token --type …",
            "GenericOAuth2GrantTests: a client without a secret is told that it may not ask about tokens"
        ),
        ("credmgr doctor", "DoctorTests: what it does is to look"),
        ("credmgr doctor --fix", "Doctor without a terminal repairs by its hint"),
        ("credmgr doctor --online", "What doctor has not looked at, it looks at"),
        ("credmgr exec --help", "A slip on the command line"),
        ("credmgr accounts --group …", "SharedGroupFaultTests: a name that is taken"),
        ("credmgr groups admit … … --fingerprint …", "SharedGroupTests: a second host"),
        ("credmgr groups expel … …", "SharedGroupFaultTests: a cluster put back to before a host was expelled"),
        ("credmgr groups hosts …", "SharedGroupFaultTests: a group is shared once"),
        (
            "credmgr groups join --help",
            "SharedGroupFaultTests: a damaged file, SharedGroupAdviceTests: who shares a group that is there"
        ),
        ("credmgr groups leave …", "SharedGroupTests: an expelled host"),
        (
            "credmgr login --account … --replace",
            "GrantsSideBySideTests: a fifth sign-in, and one without a refresh token"
        ),
        ("credmgr types add … --issuer … --register", "APINamedServerTests: any other is refused"),
        ("credmgr groups leave … --keep", "SharedGroupTests: who leaves"),
        ("credmgr groups leave … --forget", "SharedGroupFaultTests: a host that its cluster lets in no more"),
        ("credmgr groups share --help", "SharedGroupTests: who leaves"),
        (
            "credmgr groups share … --print-etcd-setup --name …",
            "SharedGroupFaultTests: the last host that may read nothing"
        ),
        (
            "credmgr logout --account … --group … && credmgr login --type … --group …",
            "SharedGroupAdviceTests: a new refresh token is no help"
        ),
        (
            "credmgr logout --account … --group … --revoke && credmgr login --type … --group …",
            "GroupsExpelTests: who is to sign in anew"
        ),
        ("credmgr login --help", "A slip on the command line"),
        ("credmgr login --complete -", "IssuerSignInTests: login refuses what is no issuer"),
        ("credmgr login https://…", "IssuerSignInTests: login with a word says what the word is"),
        ("credmgr login --resource … --type …", "DiscoveryScenarioTests"),
        ("credmgr login --type …", "Types without an account, under a group of one's own too"),
        ("credmgr login …", "no message: how a hint is known to be one to sign in"),
        ("credmgr presets", "Without types and accounts"),
        ("credmgr adapters", "Without types and accounts"),
        ("credmgr adapters test …", "PluginTests"),
        (
            "credmgr refresh --all --group … --min-valid 365d",
            "SharedGroupTests: an expelled host gets nothing more"
        ),
        ("credmgr store migrate --to …", "MigrationTests"),
        ("credmgr store migrate --to … --group …", "An account that stays in its store"),
        ("credmgr store rekey", "A file that a passphrase locks"),
        (
            "credmgr store rekey --group … --weak-passphrase",
            "A passphrase that is too short takes a word of its own"
        ),
        ("credmgr store unlock", "A file that a passphrase locks"),
        (
            "credmgr token --account … --group … --take-over",
            "SharedGroupTests: a refresh that nobody knows the end of"
        ),
        ("credmgr token --type …", "no message of the command: the library's for what it cannot do"),
        ("credmgr help --all", "StatusCommandTests: credmgr alone in a pipe"),
        ("credmgr rules add --help", "RulesCommandTests: a rule that is not valid is not written"),
        ("credmgr use --here", "RulesCommandTests: rules are added, listed with what applies here"),
        ("credmgr types", "Without types and accounts, What doctor says to do, does it"),
        ("credmgr types add --help", "Without types and accounts"),
        ("credmgr token …", "The first hour: a sign-in says who, where and what comes next"),
        ("credmgr types set --help", "A slip on the command line"),
        (
            "credmgr types set … ca_certificate=FILE",
            "CurlConnectionTests: A certificate of an unknown authority leads to the key of the type"
        ),
        ("credmgr types set … --client-secret-file -", "A client's secret that the store has not"),
        ("credmgr types set … --private-key-file -", "as --client-secret-file"),
        ("credmgr types set … keychain_group=…", "Two types that do not share a sign-in"),
        ("credmgr types set … …", "AzureB2CErrorTableTests, A client's secret that the store has not"),
        ("credmgr types set … api_base=…", "RemedyTests: an origin that may not have the token"),
        (
            "credmgr types set … api_base=https://api.example.com",
            "RemedyTests: an origin that may not have the token"
        ),
        ("credmgr setup … --host git.example.com", "RemedyTests: setup without a server names a whole command"),
        ("credmgr types trust --help", "DefinitionTrustTests: a confirmation is the digest of the file"),
        ("credmgr types trust …", "DefinitionTrustTests: an imported definition widens"),
        ("credmgr types show …", "A client that has no secret is not told to check one"),
        ("credmgr audit verify", "a log whose chain is broken"),
        ("credmgr broker add --help", "a broker that is not defined; broker add without --type"),
        ("credmgr broker add … --type … --release token", "broker add without --release and --origin"),
        ("credmgr broker env … --for container", "the notes of setup broker"),
        ("credmgr broker forget …", "a file of grants that its key does not open"),
        ("credmgr broker grants …", "broker forget of a caller without a grant"),
        ("credmgr broker list", "setup broker without --broker"),
        ("credmgr broker set --help", "broker set without a key"),
        ("credmgr broker set … --unset revoke_at_end", "broker serve with revoke_at_end"),
        ("credmgr broker set … entries.….KEY=VALUE", "broker add of an entry that exists"),
        ("credmgr broker stop --help", "broker stop without a broker"),
        ("credmgr broker stop …", "BrokerTests: a second server exits with 6 and names the first"),
        ("credmgr request --help", "request with a relative URL at the socket"),
        ("credmgr types set … api_origins=", "broker add with an origin outside of the type's"),
    ]

    // MARK: Reading the sources

    private static func written() throws -> [Written] {
        let names = Set(CommandTable.standard.commands.compactMap(\.path.first)).union(["--help"])
        return try strings().compactMap { file, text in
            // In quotes, and in the midst of a sentence, a command is spoken of and not given.
            guard let start = text.range(of: "credmgr "), !file.contains("/Demo/"),
                !file.contains("/Commands/Help/"), !text.hasPrefix("usage: "), !text.hasSuffix(" v1"),
                text[..<start.lowerBound].isEmpty
                    || [": ", "&& ", "$(", "| "].contains(where: text[..<start.lowerBound].hasSuffix)
            else { return nil }
            var rest = String(text[start.lowerBound...])
            for end in ["; ", "' ", "')", ") ", ")\"", "'", " > ", " | sh"] {
                if let range = rest.range(of: end) { rest = String(rest[..<range.lowerBound]) }
            }
            while rest.hasSuffix(" ") || rest.hasSuffix("?") { rest.removeLast() }
            let words = words(of: rest)
            // A line that goes on in another string.
            if text.hasSuffix(" ") { rest += " …" }
            guard words.count > 1, names.contains(words[1]) else { return nil }
            return Written(file: file, text: rest)
        }
    }

    /// The words of a line; one in quotes is a word.
    private static func words(of text: String) -> [String] {
        var words = [""], isQuoted = false
        for character in text {
            if character == "\"" {
                isQuoted.toggle()
            } else if character == " ", !isQuoted {
                words.append("")
            } else {
                words[words.count - 1].append(character)
            }
        }
        return words.filter { !$0.isEmpty }
    }

    /// Every string of one line in the sources, with `…` for inserted values.
    private static func strings() throws -> [(file: String, text: String)] {
        let root = String(#filePath.split(separator: "/Tests/", omittingEmptySubsequences: false)[0])
        var strings: [(String, String)] = []
        for folder in ["Sources", "Plugins"] {
            let files = FileManager.default.enumerator(atPath: root + "/" + folder)
            for case let name as String in try #require(files) where name.hasSuffix(".swift") {
                let text = try String(contentsOfFile: "\(root)/\(folder)/\(name)", encoding: .utf8)
                for line in text.split(separator: "\n") {
                    strings += literals(in: Array(line)).map { ("\(folder)/\(name)", $0) }
                }
            }
        }
        return strings
    }

    /// The strings of a line of Swift.
    private static func literals(in line: [Character]) -> [String] {
        var found: [String] = []
        var place = 0
        func skipInterpolation() {
            var depth = 0
            while place < line.count {
                if line[place] == "\"" {
                    place += 1
                    while place < line.count, line[place] != "\"" { place += line[place] == "\\" ? 2 : 1 }
                } else if line[place] == "(" {
                    depth += 1
                } else if line[place] == ")" {
                    depth -= 1
                    if depth == 0 { break }
                }
                place += 1
            }
        }
        while place < line.count {
            if line[place] == "/", place + 1 < line.count, line[place + 1] == "/" { break }
            guard line[place] == "\"" else {
                place += 1
                continue
            }
            place += 1
            var text = ""
            while place < line.count, line[place] != "\"" {
                if line[place] == "\\", place + 1 < line.count {
                    place += 1
                    if line[place] == "(" {
                        skipInterpolation()
                        text += "…"
                    } else {
                        text.append(line[place])
                    }
                } else {
                    text.append(line[place])
                }
                place += 1
            }
            place += 1
            found.append(text)
        }
        return found
    }
}
