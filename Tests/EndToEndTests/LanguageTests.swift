import Foundation
import TestSupport
import Testing

/// The program in languages other than English: users read theirs, and programs read the same as always.
@Suite struct LanguageTests {
    private struct Failure: Error { let text: String }

    /// An installation with the program that was built with the tests, and the catalogues.
    private struct Prefix {
        let folder: TemporaryFolder
        var program: String { folder.path + "/libexec/credmgr/credmgr" }

        init() throws {
            folder = try TemporaryFolder()
            try FileManager.default.createDirectory(
                atPath: folder.path + "/libexec/credmgr", withIntermediateDirectories: true)
            let scripts = String(#filePath.split(separator: "/Tests/")[0]) + "/scripts"
            for words in [
                ["install", "-m", "755", Home.program, program],
                [scripts + "/translations", "compile", folder.path + "/share/locale"],
            ] {
                let done = try ChildProcess(words[0], Array(words.dropFirst())).run()
                guard done.exitStatus == 0 else { throw Failure(text: done.standardError) }
            }
        }

        static let shared = Result { try Prefix() }
    }

    /// A language, and the program's words in it.
    struct Language: Sendable, CustomTestStringConvertible {
        let code: String
        let page: String
        let title: String
        let error: String
        let hint: String
        /// The message of `doctor` about its findings, by their number.
        let found: [Int: String]
        let heading: String
        /// Of the help.
        let usage: String
        let options: String
        /// The message about the fault in the second line of a file.
        let fault: String
        /// The message about the fate of a key of an app's settings.
        let imported: String
        var testDescription: String { code }

        static let all = [
            Language(
                code: "de", page: "de", title: "credmgr: alice@example.com ist bei Tasks angemeldet",
                error: "credmgr: error: kein Kontotyp 'Taskss'", hint: "credmgr: hint: ist 'Tasks' gemeint?",
                found: [1: "1 Problem gefunden", 2: "2 Probleme gefunden"], heading: "SPEICHER", usage: "Aufruf:",
                options: "Optionen:", fault: "unerwartetes Zeichen in Zeile 2",
                imported: "clientID (Zeile 7) verwendet als client_id"),
            Language(
                code: "it", page: "it", title: "credmgr: alice@example.com ha fatto l&#39;accesso a Tasks",
                error: "credmgr: error: nessun tipo di account 'Taskss'",
                hint: "credmgr: hint: forse si intendeva 'Tasks'?",
                found: [1: "da risolvere: 1 problema", 2: "da risolvere: 2 problemi"], heading: "ARCHIVIO",
                usage: "Uso:", options: "Opzioni:", fault: "carattere inatteso alla riga 2",
                imported: "clientID (riga 7) usato come client_id"),
            Language(
                code: "ru", page: "ru", title: "credmgr: alice@example.com: вход в Tasks выполнен",
                error: "credmgr: error: нет типа учётной записи 'Taskss'",
                hint: "credmgr: hint: возможно, имелось в виду 'Tasks'?",
                found: [1: "найдено: 1 проблема", 2: "найдено: 2 проблемы", 5: "найдено: 5 проблем"],
                heading: "ХРАНИЛИЩЕ", usage: "Использование:", options: "Параметры:",
                fault: "неожиданный символ в строке 2",
                imported: "clientID (строка 7) использован как client_id"),
            Language(
                code: "zh_TW", page: "zh-Hant-TW", title: "credmgr：alice@example.com 已登入 Tasks",
                error: "credmgr: error: 沒有帳號類型 'Taskss'", hint: "credmgr: hint: 是否指 'Tasks'？",
                found: [1: "發現 1 個問題", 2: "發現 2 個問題"], heading: "儲存區", usage: "用法：", options: "選項：",
                fault: "第 2 行：非預期的字元", imported: "clientID (第 7 行) 已採用，作為 client_id"),
        ]
    }

    private let prefix: Prefix
    private let home: Home

    /// A provider whose tokens end so that the reported time stays the same for half an hour.
    private static func tenant() throws -> DemoTenant {
        try DemoTenant {
            $0.accessTokenLifetime = 5_400
            $0.refreshTokenLifetime = 1_252_800
        }
    }

    init() throws {
        prefix = try Prefix.shared.get()
        home = try Home(["CREDMGR_STORE": "file"])
    }

    private func run(_ words: [String], in variables: [String: String] = [:]) throws -> ChildProcess.Outcome {
        try ChildProcess(prefix.program, words, environment: home.environment.merging(variables) { $1 }).run()
    }

    @Test(arguments: Language.all)
    func `the main job in a language`(_ language: Language) throws {
        let tenant = try Self.tenant()
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
        let own = ["LANGUAGE": language.code]
        let browser = try PageReader(in: home)
        let signedIn = try run(["login", "--type", "Tasks"], in: own.merging(["BROWSER": browser.path]) { $1 })
        #expect(signedIn.exitStatus == 0, "\(signedIn.standardError)")
        let page = try browser.page()
        #expect(page.contains("<h1>\(language.title)</h1>"), "\(page)")
        #expect(page.contains("<html lang=\"\(language.page)\">"))

        // Output that programs read is the same as without a language.
        for words in [
            ["accounts"], ["accounts", "--json"], ["token", "--type", "Tasks"], ["types", "--json"],
            ["token", "--type", "Taskss", "--json"],
        ] {
            let (english, translated) = (try run(words), try run(words, in: own))
            #expect(translated.standardOutput == english.standardOutput, "\(words)")
            #expect(translated.exitStatus == english.exitStatus)
        }

        let wrong = try run(["token", "--type", "Taskss"], in: own)
        #expect(wrong.exitStatus == 2)
        #expect(wrong.standardError == "\(language.error)\n\(language.hint)\n")

        for (count, text) in language.found.sorted(by: { $0.key < $1.key }) {
            for number in 1...count { try home.write("", to: "data/credmgr/open\(number)", mode: 0o644) }
            let found = try run(["doctor"], in: own)
            #expect(found.standardError.contains(text), "\(found.standardOutput)\(found.standardError)")
            // The findings are standard output, which is no terminal here.
            #expect(found.standardOutput.contains("PROBLEM  files: other users can open "))
        }
    }

    /// On a terminal the headings are the person's, and each column begins below its heading, however wide its
    /// characters are.
    @Test(arguments: Language.all)
    func `a table on a terminal`(_ language: Language) throws {
        let tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let shown = try onTerminal(["accounts", "--wide"], in: language)
        let lines = shown.split(whereSeparator: \.isNewline).map(String.init)
        // The heading, the account, and the meaning of the mark in front of it.
        try #require(lines.count == 3, "\(shown)")
        let columns = lines.map { line in
            line.unicodeScalars.reduce(into: [Unicode.Scalar]()) { cells, scalar in
                // A wide character has two cells.
                cells += scalar.value >= 0x2E80 ? [scalar, scalar] : [scalar]
            }
        }
        let heading = Array(language.heading.unicodeScalars).flatMap { $0.value >= 0x2E80 ? [$0, $0] : [$0] }
        let place = try #require(columns[0].indices.first { columns[0][$0...].starts(with: heading) }, "\(shown)")
        #expect(columns[1][place...].starts(with: "file".unicodeScalars), "\(shown)")
    }

    /// The output of the program on a terminal.
    private func onTerminal(_ words: [String], in language: Language) throws -> String {
        try ChildProcess(
            "python3",
            [
                "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)",
                "sh", "-c", "stty cols 200; exec \"$@\"", "sh", prefix.program,
            ] + words,
            environment: home.environment.merging(["LANGUAGE": language.code, "NO_COLOR": "1"]) { $1 }
        ).run().standardOutput
    }

    @Test(arguments: Language.all)
    func `errors in a file, and the results of its keys`(_ language: Language) throws {
        let own = ["LANGUAGE": language.code]
        try home.write("{\n\"adapter\": oauth2}", to: "broken.json", mode: 0o600)
        let broken = try run(["types", "import", home.path + "/broken.json"], in: own)
        #expect(broken.exitStatus == 2)
        #expect(broken.standardError.contains("broken.json") && broken.standardError.contains(language.fault))
        try home.write("<plist>\n<dict><key>a</dict></plist>", to: "broken.plist", mode: 0o600)
        let unreadable = try run(["types", "import", home.path + "/broken.plist"], in: own)
        #expect(unreadable.standardError.contains("</key>") && !unreadable.standardError.contains("expected"))

        let settings = String(#filePath.split(separator: "/EndToEndTests/")[0]) + "/Fixtures/settings/form-a.plist"
        let words = ["types", "import", settings, "--force"]
        #expect(try onTerminal(words, in: language).contains(language.imported))
        // A script reads the same in each language.
        let (english, translated) = (try run(words), try run(words, in: own))
        #expect(english.standardOutput.contains("clientID (line 7) used as client_id\n"))
        #expect(translated.standardOutput == english.standardOutput)
    }

    @Test(arguments: Language.all)
    func `the texts about stores, presets and accounts`(_ language: Language) throws {
        try Self.tenant().signIn(at: home)
        for (words, english) in [
            (["store", "status"], ["usable", "does not protect against", "encrypted with"]),
            (["presets"], ["a realm of a Keycloak server", "built in"]),
            (["accounts", "show", "alice@example.com"], ["created", "signed in"]),
        ] {
            let (plain, shown) = (try run(words).standardOutput, try onTerminal(words, in: language))
            for text in english {
                #expect(plain.contains(text), "\(plain)")
                #expect(!shown.contains(text), "\(shown)")
            }
            // A script reads the same in each language.
            #expect(try run(words, in: ["LANGUAGE": language.code]).standardOutput == plain)
        }
    }

    /// Help is for users, also through a pipe to a pager; commands, options and values stay as you type them.
    @Test(arguments: Language.all)
    func `help in a language`(_ language: Language) throws {
        let own = ["LANGUAGE": language.code]
        for words in [["token", "--help"], ["help", "token"]] {
            let shown = try run(words, in: own)
            #expect(shown.exitStatus == 0)
            let help = shown.standardOutput
            #expect(help.hasPrefix("\(language.usage) credmgr token [OPTION…]\n"), "\(help)")
            #expect(help.contains("\n\(language.options)\n      --type TYPE "), "\(help)")
            #expect(help.contains("\n  eval \"$(credmgr token --type ToDoList --format env)\"\n"), "\(help)")
            #expect(!help.contains("the account type"))
        }
        let overview = try run(["help", "--all"], in: own).standardOutput
        #expect(overview.contains("  login ") && overview.contains("\n  CREDMGR_TYPE "), "\(overview)")
        #expect(!overview.contains("Environment"))
        // The manual page, and the descriptions that a shell shows beside the words.
        let page = try run(["help", "--man", "token"], in: own).standardOutput
        #expect(page.contains(".TP\n\\fB\\-\\-type\\fR \\fITYPE\\fR\n") && !page.contains(".SH OPTIONS"), "\(page)")
        let completions = try run(["__complete", "--", "log"], in: own).standardOutput.split(separator: "\n")
        #expect(completions.map { $0.prefix { $0 != "\t" } } == ["login", "logout"])
        #expect(!completions.contains("login\tsign in"))
    }

    /// Each line of a help page keeps to the width of its characters, and the texts beside the options begin in one
    /// column.
    @Test(arguments: Language.all)
    func `the columns of help`(_ language: Language) throws {
        let help = try run(["logout", "--help"], in: ["LANGUAGE": language.code])
        let lines = help.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
        let cells = lines.map { line in
            line.unicodeScalars.reduce(into: [Unicode.Scalar]()) { cells, scalar in
                cells += scalar.value >= 0x2E80 ? [scalar, scalar] : [scalar]
            }
        }
        // Commands to copy are never broken, nor is a word that is longer than the line.
        for (line, cells) in zip(lines, cells) where cells.count > 80 {
            #expect(line.hasPrefix("  credmgr ") || line.hasPrefix("  # "), "\(line)")
        }
        let options = cells.filter { $0.starts(with: "      --".unicodeScalars) }
        let beginnings = options.map { option in
            option.indices.dropFirst(8).first {
                option[$0] != " " && option[$0 - 1] == " " && option[$0 - 2] == " "
            }
        }
        #expect(Set(beginnings.compactMap(\.self)).count == 1, "\(help.standardOutput)")
    }

    /// Without a language the help equals the snapshots, to the byte.
    @Test(arguments: [
        ["LC_ALL": "C", "LANGUAGE": "de"], ["LC_ALL": "POSIX", "LANGUAGE": "zh_TW"], ["LANGUAGE": "tlh"],
    ])
    func `help without a language is English`(_ variables: [String: String]) throws {
        let folder = String(#filePath.split(separator: "/EndToEndTests/")[0]) + "/CommandTests/Snapshots"
        for (words, name) in [(["--help"], "help"), (["token", "--help"], "help-token")] {
            let help = try run(words, in: variables).standardOutput
            #expect(try help == String(contentsOfFile: "\(folder)/\(name).txt", encoding: .utf8))
        }
    }

    /// `C.UTF-8` has no messages of its own; a locale that a machine has is found by its name.
    @Test(.needs(.program("localedef")))
    func `a locale of the machine`() throws {
        let made = ChildProcess("localedef", ["-i", "de_DE", "-f", "UTF-8", home.path + "/locales/de_DE.UTF-8"])
        try FileManager.default.createDirectory(
            atPath: home.path + "/locales", withIntermediateDirectories: true)
        #expect(try made.run().exitStatus == 0)
        let german = try run(
            ["token", "--type", "Tasks"],
            in: ["LC_ALL": "de_DE.UTF-8", "LOCPATH": home.path + "/locales"])
        #expect(german.standardError.contains("kein Kontotyp 'Tasks'"), "\(german.standardError)")
    }

    @Test(arguments: [
        ["LC_ALL": "xx_YY.UTF-8"], ["LC_ALL": "", "LANG": "de_DE.UTF-9"], ["LC_ALL": "C", "LANGUAGE": "de"],
        ["LC_ALL": "POSIX", "LANGUAGE": "ru"], ["LANGUAGE": "tlh"], ["LANGUAGE": "../../../tmp"],
        ["LC_ALL": "../../etc"], ["LANGUAGE": ""],
    ])
    func `a language that is not there is English, without a word about it`(_ variables: [String: String]) throws {
        let outcome = try run(["token", "--type", "Tasks"], in: variables)
        #expect(outcome.exitStatus == 2)
        #expect(
            outcome.standardError
                == "credmgr: error: no account type 'Tasks'\ncredmgr: hint: define it: credmgr types add --help\n")
    }

    /// A locale with a character set and no catalogue: gettext gives back its keys, short ones and long ones.
    @Test(arguments: [["LC_ALL": "C.UTF-8"], ["LC_ALL": "C.UTF-8", "LANGUAGE": "tlh"]])
    func `a locale without a catalogue is English to the byte`(_ variables: [String: String]) throws {
        try DemoTenant().definePolicies(at: home, ["redirect_uri": "http://localhost"])
        for words in [
            ["token", "--type", "Tasks"], ["token", "--type", "Tasks", "--account", "zz"],
            ["types", "set", "Tasks"],
            ["login", "--type", "Tasks", "--resource", "https://api.example.com", "--account", "zz"], ["--nope"],
        ] {
            let english = try run(words, in: ["LC_ALL": "C"])
            let outcome = try run(words, in: variables)
            #expect(outcome.standardError == english.standardError)
            #expect(outcome.exitStatus == english.exitStatus && outcome.exitStatus < 128, "\(words)")
        }
    }

    /// A call without a message makes no kernel call for the language.
    @Test(.needs(.tracing)) func `a token that is there opens no catalogue`() throws {
        let tenant = try DemoTenant()
        try tenant.signIn(at: home)
        func opened(_ words: [String], exits status: Int32) throws -> String {
            let outcome = try ChildProcess(
                "strace",
                ["-f", "-e", "trace=%file", "-o", home.path + "/strace.log", prefix.program] + words,
                environment: home.environment.merging(["LANGUAGE": "de"]) { $1 }
            ).run()
            #expect(outcome.exitStatus == status, "\(outcome.standardError)")
            return try #require(home.text(of: "strace.log"))
        }
        let silent = try opened(["token", "--type", DemoTenant.typeName], exits: 0)
        #expect(!silent.contains("/locale") && !silent.contains("credmgr.mo"))
        // The trace shows the same call if there is a message to print.
        #expect(
            try opened(["token", "--type", "Taskss"], exits: 2).contains("/share/locale/de/LC_MESSAGES/credmgr.mo"))
    }
}
