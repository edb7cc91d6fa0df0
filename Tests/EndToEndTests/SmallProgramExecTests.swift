import Foundation
import TestSupport
import Testing

/// `exec` by the small program: the command and its caller see the same as with the full one. The full program
/// refreshes the token.
@Suite struct SmallProgramExecTests {
    private let home: Home
    /// `$XDG_RUNTIME_DIR`.
    private let runtime: TemporaryFolder
    private let tenant: DemoTenant
    /// The small program without a full one.
    private let alone: Installation

    /// How long a token lives, in seconds: the small program takes one of which half is left, and gives way for the
    /// last.
    private static let lifetime: Int64 = 16

    private static let options = ["--type", DemoTenant.typeName]

    init() throws {
        runtime = try TemporaryFolder(isInMemory: true)
        home = try Home(["CREDMGR_CACHE": "on"], runtime: runtime)
        tenant = try DemoTenant()
        alone = try Installation(standIn: Installation.recorder)
        try tenant.signIn(at: home)
        try settle()
    }

    /// Calls the full program until its answer is kept: not while a file that it depends on is as young as the
    /// call.
    private func settle() throws {
        let words = ["token"] + Self.options
        for _ in 0..<100 where try run(alone.small, words).standardOutput.hasPrefix("full") { try home.run(words) }
    }

    private func run(
        _ program: String, _ words: [String], _ variables: [String: String?] = [:]
    ) throws -> ChildProcess.Outcome {
        var environment = home.environment
        for (name, value) in variables { environment[name] = value }
        return try ChildProcess(program, words, environment: environment).run(seconds: 90)
    }

    /// The words of a call whose command is a shell.
    private static func shell(_ script: String, _ more: [String] = []) -> [String] {
        ["exec"] + options + more + ["--", "/bin/bash", "-c", script]
    }

    /// The directories of runs, each with a token, that are there.
    private var files: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: runtime.path)
        return (names ?? []).filter { $0.contains("credmgr-exec.") }
    }

    // MARK: What the command gets

    /// Prints the input of a command, except the name of the file.
    private static let inventory = #"""
        env | grep -v '^_=' | sed "s|$CREDMGR_TOKEN_FILE|FILE|" | sort
        cat "$CREDMGR_TOKEN_FILE"; wc -c <"$CREDMGR_TOKEN_FILE"; stat -c '%a %U' "$CREDMGR_TOKEN_FILE"; dirname "$(dirname "$CREDMGR_TOKEN_FILE")"
        pwd; umask; ulimit -a; trap; echo "$0 $#"; ls /proc/self/fd
        grep -E '^(Sig(Pnd|Blk|Ign|Cgt)|CoreDumping|NoNewPrivs)' /proc/self/status
        test -r "/proc/$$/environ" && echo readable
        """#

    @Test(arguments: [
        [], ["--env", "MINE"], ["--file-env=MINE"], ["--env", "MINE", "--file-env", "MINE"],
        ["--env", "CREDMGR_TOKEN_FILE"], ["--format", "json"], ["--format=header"], ["--format", "bearer"],
        ["--format", "env"], ["--format", "headers-json"], ["--format", "xoauth2", "--file-env", "F"],
        ["--min-valid", "20", "--quiet", "--no-input"],
    ])
    func `By both, the command gets the same`(more: [String]) throws {
        let words = Self.shell(Self.inventory, more)
        for before in ["", "umask 0027; ulimit -S -c 7; trap '' HUP USR1 PIPE CHLD; exec 5</dev/null;"] {
            let script = before + "exec \"$0\" \"$@\""
            let small = try run("/bin/bash", ["-c", script, alone.small] + words)
            let full = try run("/bin/bash", ["-c", script, Home.program] + words)
            #expect(small.standardOutput.contains("CREDMGR_TOKEN_FILE=FILE\n"), "\(small.standardError)")
            #expect(small.standardOutput.contains("\n600 ") && small.standardOutput.contains("\nreadable\n"))
            #expect(small.standardOutput == full.standardOutput)
            #expect(small.standardError == full.standardError && small.exitStatus == full.exitStatus)
        }
        #expect(files.isEmpty)
    }

    @Test func `By both, a program is found alike`() throws {
        let folder = try TemporaryFolder()
        try installProgram("#!/bin/sh\necho first \"$@\"", at: folder.path + "/tool")
        try installProgram("#!/bin/sh\necho never", at: folder.path + "/closed", mode: 0o600)
        try installProgram("no program", at: folder.path + "/text")
        let whole = try Installation()
        for (path, words) in [
            (folder.path, ["tool", "a  b", ""]), ("/nowhere:.:" + folder.path, ["tool"]), ("", ["tool"]),
            (folder.path, [folder.path + "/tool"]), (folder.path, ["closed"]), (folder.path, ["text"]),
            (folder.path, ["no-such-program"]), (folder.path, [""]), (folder.path, ["/usr"]),
        ] {
            let words = ["exec"] + Self.options + ["--"] + words
            let small = try run(whole.small, words, ["PATH": path])
            let full = try run(whole.full, words, ["PATH": path])
            #expect(small.standardOutput == full.standardOutput && small.exitStatus == full.exitStatus, "\(words)")
            #expect(small.standardError == full.standardError, "\(words)")
        }
        #expect(files.isEmpty)
    }

    @Test(arguments: [
        ["exec", "--type", DemoTenant.typeName, "env"], ["exec", "--type", DemoTenant.typeName, "--"],
        ["exec", "--", "env"], shell("env", ["--nonsense"]), shell("env", ["--id-token"]), shell("env", ["-v"]),
        shell("env", ["--env", "1X"]), shell("env", ["--format", "exec-credential"]),
        shell("env", ["--min-valid", "9000h"]), shell("env", ["--scope", "another"]), shell("env", ["--help"]),
        ["exec", "--type", DemoTenant.typeName, "--", "no-such-program"],
        ["exec", "--type", DemoTenant.typeName, "--", "/etc/passwd"],
    ])
    func `The full program gets other calls, word for word, and no file is left`(words: [String]) throws {
        let given = words.map { " [\($0)]" }.joined()
        #expect(try run(alone.small, words).standardOutput == "full\(given)\n")
        #expect(files.isEmpty)
    }

    @Test func `The full program gets a failed start in its original state`() throws {
        let folder = try TemporaryFolder()
        try installProgram("no program", at: folder.path + "/text")
        let recorder = try Installation(
            standIn: """
                #!/bin/bash
                printf 'full '; umask; ulimit -c; grep -E '^Sig(Pnd|Blk)' /proc/self/status
                """)
        let call = ["exec"] + Self.options + ["--", folder.path + "/text"]
        let outcome = try run(
            "/bin/bash", ["-c", "umask 0027; ulimit -S -c 7; exec \"$0\" \"$@\"", recorder.small] + call)
        let none = String(repeating: "0", count: 16)
        #expect(outcome.standardOutput == "full 0027\n7\nSigPnd:\t\(none)\nSigBlk:\t\(none)\n")
        #expect(files.isEmpty)
    }

    @Test(arguments: ["<&-", ">&-", "2>&-"])
    func `A standard stream that is closed is the full program's to see`(closed: String) throws {
        let whole = try Installation(), answer = home.path + "/answer"
        let words = Self.shell(
            "exec 9>'\(answer)'; for stream in 0 1 2; do readlink /proc/$$/fd/$stream >&9; done")
        func seen(_ program: String) throws -> String? {
            let streams = "0</dev/null 1>/dev/null 2>/dev/null \(closed)"
            let outcome = try run("/bin/bash", ["-c", "exec \"$0\" \"$@\" \(streams)", program] + words)
            #expect(outcome.exitStatus == 0)
            return home.text(of: "answer")
        }
        #expect(try seen(whole.small) == seen(whole.full))
    }

    // MARK: How it ends

    @Test(arguments: [
        "exit 0", "exit 255", "kill -TERM $$", "kill -KILL $$", "kill -INT $$", "kill -PIPE $$", "kill -SEGV $$",
    ])
    func `By both, the caller sees the same end`(script: String) throws {
        let small = try run(alone.small, Self.shell(script)), full = try run(Home.program, Self.shell(script))
        #expect(small.exitStatus == full.exitStatus && small.standardError == full.standardError)
        #expect(files.isEmpty)
    }

    @Test(arguments: ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"])
    func `Signals from other processes are passed on`(name: String) throws {
        let caught = Self.shell("trap 'echo passed on; exit 9' \(name); kill -\(name) $PPID; " + Self.wait)
        let outcome = try run(alone.small, caught)
        #expect(outcome.standardOutput == "passed on\n" && outcome.exitStatus == 9)
        // One that the command does not catch ends both, and the file is gone.
        let ended = try run(
            alone.small,
            ["exec"] + Self.options + ["--", "/bin/sh", "-c", "kill -\(name) $PPID; exec tail -f /dev/null"])
        #expect(ended.exitStatus > 128 && ended.standardOutput.isEmpty)
        #expect(files.isEmpty)
    }

    @Test func `The interrupt of a terminal comes once`() throws {
        // The signal that is sent afterwards is dequeued afterwards: another interrupt would have come before it.
        let script = #"""
            count=0; trap 'count=$((count + 1))' INT; trap 'echo $count; exit 5' USR1
            echo ready >&2; while [ $count = 0 ]; do sleep 0.05; done; kill -USR1 $PPID
            """# + "\n" + Self.wait
        for program in [alone.small, Home.program] {
            let session = try home.onTerminal(Self.shell(script), [("ready", "\u{3}")], program: program)
            #expect(session.output == "1\n" && session.status == 5, "\(session.text)")
        }
    }

    @Test func `The directory of a killed process is removed by the next`() throws {
        let killed = try run(alone.small, Self.shell("kill -9 $PPID"))
        #expect(killed.exitStatus == 137)
        #expect(files.count == 1)
        #expect(try run(alone.small, Self.shell("exit 3")).exitStatus == 3)
        #expect(files.isEmpty)
    }

    @Test func `A call of exec is remembered for the next`() throws {
        let words = Self.shell("echo command", ["--account", "alice@example.com"])
        for _ in 0..<100 where try run(alone.small, words).standardOutput != "command\n" { try home.run(words) }
        #expect(try run(alone.small, words).standardOutput == "command\n")
    }

    // MARK: Renewal

    /// Ends by a signal only.
    private static let wait = "while :; do sleep 0.05; done"

    /// Waits until the small program has become another one.
    private static let awaitHandOver =
        "until grep -qxz __exec /proc/$PPID/cmdline; do sleep 0.1; done\n"

    /// Lets a new token live for a few seconds only.
    private func shorten() throws {
        tenant.provider.change { $0.accessTokenLifetime = Self.lifetime }
        try home.run(["token", "--force-refresh"] + Self.options)
    }

    /// Waits until the token of the file is another one, and says who runs the command before and after.
    private static let awaitRenewal = #"""
        first=$(cat "$CREDMGR_TOKEN_FILE"); parent=$PPID
        tr '\0' '\n' <"/proc/$PPID/cmdline" | sed -n 2p
        while [ "$(cat "$CREDMGR_TOKEN_FILE")" = "$first" ]; do [ -e "/proc/$parent" ] || exit 1; sleep 0.1; done
        tr '\0' '\n' <"/proc/$PPID/cmdline" | sed -n 2p
        """#

    @Test func `The full program carries on with the same command and the same file`() throws {
        let whole = try Installation()
        try shorten()
        let script =
            "CREDMGR='\(whole.small)'\n" + Self.awaitRenewal + #"""

                test "$first" = "$ACCESS_TOKEN" && echo first
                "$CREDMGR" token --type "$1" | cmp - "$CREDMGR_TOKEN_FILE" && echo kept
                stat -c %a "$CREDMGR_TOKEN_FILE"
                # What is in use is not taken for left behind.
                "$CREDMGR" exec --type "$1" -- true; test -e "$CREDMGR_TOKEN_FILE" && echo there
                trap 'echo passed on; exit 9' TERM; kill -TERM "$PPID"

                """# + Self.wait
        let outcome = try run(whole.small, Self.shell(script) + ["sh", DemoTenant.typeName])
        #expect(outcome.standardOutput == "exec\n__exec\nfirst\nkept\n600\nthere\npassed on\n")
        #expect(outcome.exitStatus == 9 && outcome.standardError.isEmpty, "\(outcome.standardError)")
        #expect(files.isEmpty)
    }

    @Test func `The token stays that of the account it began with`() throws {
        let whole = try Installation()
        try home.run(["use", "alice@example.com"] + Self.options)
        try tenant.signIn(DemoTenant.bob, at: home, more: ["--new"])
        try settle()
        try shorten()
        let script =
            "'\(whole.small)' use bob@example.com --type '\(DemoTenant.typeName)'\n" + Self.awaitRenewal + #"""

                "$0" token --type "$1" --account alice@example.com | cmp - "$CREDMGR_TOKEN_FILE" && echo kept
                """#
        let outcome = try run(
            whole.small,
            ["exec"] + Self.options + ["--", "/bin/bash", "-c", script, whole.small, DemoTenant.typeName])
        #expect(outcome.standardOutput.hasSuffix("exec\n__exec\nkept\n"), "\(outcome.standardOutput)")
        #expect(outcome.exitStatus == 0 && files.isEmpty)
    }

    /// Does something in the moment of the hand-over, as the same process, and becomes the full program.
    private func between(_ python: String) throws -> Installation {
        try Installation(
            standIn: """
                #!/usr/bin/python3
                import os, signal, sys
                words = sys.argv[1:]
                \(python)
                os.execv("\(Home.program)", ["credmgr"] + words)
                """)
    }

    @Test func `A command that ends in the moment of the hand-over has ended as it did`() throws {
        let moment = try between(
            """
            while b"State:\\tZ" not in open(f"/proc/{words[1]}/status", "rb").read():
                pass
            """)
        try shorten()
        let outcome = try run(
            moment.small,
            Self.shell(Self.awaitHandOver + "exit 5"))
        #expect(outcome.exitStatus == 5 && outcome.standardError.isEmpty, "\(outcome.standardError)")
        #expect(files.isEmpty)
    }

    @Test func `A signal that comes in the moment of the hand-over is passed on`() throws {
        let moment = try between("os.kill(os.getpid(), signal.SIGTERM)")
        try shorten()
        let outcome = try run(moment.small, Self.shell("trap 'echo passed on; exit 9' TERM; " + Self.wait))
        #expect(outcome.standardOutput == "passed on\n" && outcome.exitStatus == 9, "\(outcome.standardError)")
        #expect(files.isEmpty)
    }

    @Test func `Without a thread from the system the command has its signals and its end`() throws {
        // A thread's stack would be larger than the whole address space.
        let moment = try between(
            """
            import resource
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 48, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            """)
        try shorten()
        let outcome = try run(
            moment.small,
            Self.shell(
                "trap 'echo passed on; exit 9' TERM\n" + Self.awaitHandOver + "kill -TERM $PPID; " + Self.wait))
        #expect(outcome.standardOutput == "passed on\n" && outcome.exitStatus == 9, "\(outcome.standardError)")
        #expect(outcome.standardError.hasPrefix("credmgr: warning: cannot refresh the token: "))
        #expect(files.isEmpty)
    }

    @Test(arguments: [
        "words[3] = 'credmgr'", "words[3] = 'credmgr-exec.none'", "words[3] = '../' + words[3]", "words[2] = '0'",
        "words[5] = 'Nobody'", "words[7:] = ['token']", "words[2:] = []",
    ])
    func `A file that is not its own is left alone, and the command has its end`(change: String) throws {
        let moment = try between(change)
        try shorten()
        // The account is looked up beside the command, which ends when that failure has been reported.
        let script = """
            until grep -q 'cannot refresh' "$0"; do sleep 0.1; done; kill -USR1 $PPID
            \(Self.wait)
            """
        let errors = home.path + "/errors"
        let outcome = try run(
            "/bin/bash",
            ["-c", "exec \"$0\" \"$@\" 2>'\(errors)'", moment.small, "exec"] + Self.options
                + ["--", "/bin/bash", "-c", script, errors])
        #expect(outcome.exitStatus == 128 + SIGUSR1)
        #expect(home.text(of: "errors")?.hasPrefix("credmgr: warning: cannot refresh the token: ") == true)
        #expect(FileManager.default.fileExists(atPath: runtime.path + "/credmgr"))
        // A file that is not taken over goes with the next command.
        try home.run(["exec"] + Self.options + ["--", "true"])
        #expect(files.isEmpty)
    }

    @Test func `Without the full program the command goes on, and keeps its signals`() throws {
        let whole = try Installation()
        try shorten()
        let script = """
            rm '\(whole.full)'; trap 'echo passed on; exit 9' TERM
            until grep -q 'not refreshed' "$0"; do sleep 0.1; done; kill -TERM $PPID
            \(Self.wait)
            """
        let errors = home.path + "/errors"
        let outcome = try run(
            "/bin/bash",
            ["-c", "exec \"$0\" \"$@\" 2>'\(errors)'", whole.small, "exec"] + Self.options
                + ["--", "/bin/bash", "-c", script, errors])
        #expect(outcome.standardOutput == "passed on\n" && outcome.exitStatus == 9)
        #expect(home.text(of: "errors")?.hasPrefix("credmgr: error: the full program is missing: ") == true)
        #expect(files.isEmpty)
    }

    @Test func `A process that is no child of this one is refused`() throws {
        for words in [
            ["__exec"], ["__exec", "1", "3", "token-1", "default", "T", "a", "exec", "--", "true"],
            ["__exec", "\(getpid())", "3", "token-1", "default", "T", "a", "exec", "--", "true"],
            ["__exec", "0", "3", "token-1", "default", "T", "a", "exec", "--", "true"],
            ["__exec", "-1", "3", "token-1", "default", "T", "a", "exec", "--", "true"],
            ["__exec", "x", "y", "token-1", "default", "T", "a", "exec", "--", "true"],
        ] {
            let outcome = try home.run(words, exits: 2)
            #expect(outcome.standardError.contains("'__exec' is reserved for credmgr"))
        }
    }
}
