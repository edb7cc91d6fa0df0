import CredentialCore
import DemoProvider
import Foundation
import TestSupport
import Testing

/// What other processes and other users could get hold of while the program runs.
@Suite(.enabled(if: Tracing.isPossible)) struct HygieneTests {
    /// A session under strace: a sign-in, a token, a refresh, a sign-out; the calls that it made.
    private static func trace(_ calls: String, in home: Home, _ tenant: DemoTenant) throws -> [Substring] {
        try tenant.define(at: home)
        let log = home.path + "/outside-trace"
        let traced = ["-f", "-y", "-v", "-s", "65536", "-o", log, "-A", "-e", "trace=" + calls, Home.program]
        func run(_ words: [String], input: String = "") throws {
            let outcome = try ChildProcess("/usr/bin/strace", traced + words, environment: home.environment)
                .run(input: input)
            #expect(outcome.exitStatus == 0, "\(words): \(outcome.standardError)")
        }
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        try run(["login", "--complete", "-"], input: try tenant.redirect(from: url) + "\n")
        try run(["token"])
        try run(["token", "--force-refresh"])
        try run(["logout", "--all", "--yes"])
        return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    }

    @Test func `Every file is closed on exec, and none of ours is reached through a link`() throws {
        let home = try Home()
        let lines = try Self.trace("openat,mkdirat,pipe2,execve", in: home, try DemoTenant())
        // The first exec is the program's; what the loader opens is not ours, and is not kept open either.
        let opens = lines.filter { $0.contains("openat(") && $0.contains(home.path) && !$0.contains(" = -1 ") }
        #expect(opens.count > 50)
        for line in opens {
            #expect(line.contains("O_CLOEXEC"), "\(line)")
            // What people write themselves may be a link of theirs.
            if line.contains("/config/credmgr/") { continue }
            // The folder that the user's own variable names may be a link; what is below it is not.
            let isBase = line.contains("openat(AT_FDCWD") && line.contains("O_DIRECTORY")
            let isItself = line.contains(", \".\", ")
            #expect(isBase || isItself || line.contains("O_NOFOLLOW"), "\(line)")
            if line.contains("O_CREAT") { #expect(line.contains(", 0600)"), "\(line)") }
        }
        let made = lines.filter { $0.contains("mkdirat(") && !$0.contains(" = -1 ") }
        #expect(!made.isEmpty)
        for line in made { #expect(line.contains(", 0700)"), "\(line)") }
        for line in lines where line.contains("pipe2(") { #expect(line.contains("O_CLOEXEC"), "\(line)") }
    }

    @Test func `No secret is an argument or a variable of a process that is started`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let lines = try Self.trace("execve", in: home, tenant)
        let starts = lines.filter { $0.contains("execve(") }
        // The four commands, and the worker of the refresh.
        #expect(starts.count >= 5)
        for line in starts {
            #expect(!line.contains(DemoTenant.alice.password.reveal()), "\(line)")
            for secret in tenant.provider.secrets { #expect(!line.contains(secret), "\(line)") }
        }
        // The worker knows the home of its user and not much else.
        let worker = try #require(starts.first { $0.contains("/proc/self/exe") })
        #expect(!worker.contains("CREDMGR_PASSPHRASE"))
    }

    @Test(.needs(.root))
    func `Another process of the same user reads neither memory nor environment`() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o755)
        // Somebody who is not root, with a program where that somebody can start it.
        let shell = """
            cp "$PROGRAM" "$FOLDER/credmgr" && chmod 755 "$FOLDER/credmgr" && mkdir -m 700 "$FOLDER/home" &&
            chown 65534:65534 "$FOLDER/home" &&
            exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all sh -c '
                export HOME="$FOLDER/home"
                sleep 60 >/dev/null 2>&1 & open=$!
                mkfifo "$HOME/input" && : >"$HOME/out"
                "$FOLDER/credmgr" demo --serve <"$HOME/input" >"$HOME/out" 2>&1 & program=$!
                exec 7>"$HOME/input"
                while ! grep -q "listens at" "$HOME/out"; do
                    kill -0 $program || exit 9
                    sleep 0.05
                done
                cat /proc/$open/environ >/dev/null 2>&1 || echo "the neighbour of the test cannot be read either"
                for file in environ maps mem auxv stack io; do
                    head -c 1 /proc/$program/$file >/dev/null 2>&1 && echo "$file can be read"
                done
                timeout 5 strace -qq -p $program -e trace=none >/dev/null 2>"$HOME/trace"
                grep -q "Operation not permitted" "$HOME/trace" || { echo "it can be traced:"; cat "$HOME/trace"; }
                ls "/proc/$program/fd" >/dev/null 2>&1 && echo "its descriptors can be listed"
                exec 7>&-
                kill $open
                wait $program
            '
            """
        let outcome = try ChildProcess(
            "/bin/sh", ["-c", shell],
            environment: ["PATH": "/usr/bin:/bin", "FOLDER": folder.path, "PROGRAM": Home.program]
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(outcome.standardOutput == "")
    }
}
