import CommandLine
import Commands
import Foundation
import TestSupport
import Testing

@Suite struct ArgumentsCompletionTests {
    private let completer = Completer(.standard) { kind in
        switch kind {
        case .accountType: ["ToDo", "Tools", "bad\nname"]
        case .account: ["ann@example.com", "bob"]
        case .policy: ["sign_in"]
        case .group: ["work"]
        case .none, .file, .words: []
        }
    }

    private func words(_ line: String...) -> [String] {
        completer.answer(line).split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }

    @Test func `commands are completed with their summaries`() {
        #expect(words("lo") == ["login", "logout"])
        #expect(words("types", "s") == ["show", "set"])
        #expect(words("store", "") == ["status", "migrate", "unlock", "lock", "rekey"])
        #expect(completer.answer(["dem"]) == "demo\ttry credmgr with a built-in provider\n")
        #expect(words("__").isEmpty)
    }

    @Test func `options of the command and of every command are completed`() {
        #expect(words("token", "--f") == ["--force-refresh", "--format"])
        #expect(words("--no") == ["--no-input"])
        #expect(words("token", "--", "--f").isEmpty)
    }

    @Test func `values are completed behind a space and behind an equals sign`() {
        #expect(words("token", "--type", "To") == ["ToDo", "Tools"])
        #expect(words("token", "--type=To") == ["--type=ToDo", "--type=Tools"])
        #expect(words("token", "--format", "he") == ["header", "headers-json"])
        #expect(words("--store=s") == ["--store=secret-service"])
        #expect(words("login", "--password-file", "") == [":files"])
        #expect(words("login", "--username", "").isEmpty)
    }

    @Test func `positional parameters are completed in their place`() {
        #expect(words("use", "a") == ["ann@example.com"])
        #expect(words("use", "--type", "ToDo", "b") == ["bob"])
        #expect(words("use", "bob", "").isEmpty)
        #expect(words("types", "import", "") == [":files"])
        #expect(words("request", "P") == ["POST", "PUT", "PATCH"])
        #expect(words("completion", "") == ["bash", "zsh", "fish"])
        #expect(words("help", "cl") == ["claims"])
    }

    /// Runs the real script in a real bash, with a fake program that prints its arguments.
    @Test(arguments: [
        ("credmgr tok", "--,tok", "token\tprint", "token"),
        ("credmgr use ann@ex", "--,use,ann@ex", "ann@example.com", "example.com"),
        ("credmgr token --type=To", "--,token,--type=To", "--type=ToDo", "ToDo"),
        ("credmgr token ", "--,token,", "--type", "--type"),
    ])
    func `bash completes the words that the program offers`(
        _ line: String, _ asked: String, _ offered: String, _ expected: String
    ) throws {
        let folder = try TemporaryFolder()
        let program = folder.path + "/credmgr"
        try installProgram(
            "#!/bin/sh\n[ \"$1\" = __complete ] && shift\n(IFS=,; echo \"$*\") > \"\(folder.path)/asked\"\necho '\(offered)'\n",
            at: program)
        let script =
            Shell.bash.completionScript
            + "COMP_LINE='\(line)'; COMP_POINT=${#COMP_LINE}; _credmgr 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
        let outcome = try ChildProcess("bash", ["-s"], environment: ["PATH": folder.path + ":/usr/bin:/bin"])
            .run(input: script)
        #expect(outcome.standardOutput == expected + "\n")
        let words = try String(contentsOfFile: folder.path + "/asked", encoding: .utf8)
        #expect(words == asked + "\n")
    }

    @Test(arguments: [
        ("types import @/cred", "@/credmgr"), ("types import a@@/cred", nil),
        ("login --password-file=@/cred", "@/credmgr"),
    ])
    func `bash completes file names if the program requests them`(_ line: String, _ expected: String?) throws {
        let folder = try TemporaryFolder()
        let program = folder.path + "/credmgr"
        try installProgram("#!/bin/sh\necho :files\n", at: program)
        func inFolder(_ text: String) -> String { text.replacingOccurrences(of: "@/", with: folder.path + "/") }
        let script =
            Shell.bash.completionScript
            + "COMP_LINE='credmgr \(inFolder(line))'; COMP_POINT=${#COMP_LINE}\n"
            + "_credmgr 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
        let outcome = try ChildProcess("bash", ["-s"], environment: ["PATH": folder.path + ":/usr/bin:/bin"])
            .run(input: script)
        #expect(outcome.standardOutput == (expected.map(inFolder) ?? "") + "\n")
    }
}
