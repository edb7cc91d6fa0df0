import Foundation
import TestSupport
import Testing

@Suite struct `A command with a token` {
    /// `$XDG_RUNTIME_DIR`.
    private let runtime: TemporaryFolder

    init() throws { runtime = try TemporaryFolder(isInMemory: true) }

    /// The directories of runs.
    private var directories: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: runtime.path).filter {
                $0.contains("credmgr-exec.")
            }
        }
    }

    private func shell(_ home: Home, _ script: String, _ more: [String] = [], exits status: Int32 = 0)
        throws -> ChildProcess.Outcome
    {
        try ChildProcess(
            Home.program, ["exec"] + more + ["--", "/bin/sh", "-c", script], environment: home.environment
        ).run(seconds: 60)
    }

    @Test func `has it in its environment and in a private file that goes with it`() throws {
        let home = try Home(runtime: runtime), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let token = try home.run(["token"]).line
        let outcome = try shell(
            home,
            #"printf '%s\n' "$ACCESS_TOKEN"; cat "$CREDMGR_TOKEN_FILE"; echo "$CREDMGR_TOKEN_FILE"; stat -c %a "$CREDMGR_TOKEN_FILE"; cat"#
        )
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        #expect(lines.count == 4)
        #expect(lines.prefix(2) == [token, token])
        #expect(lines[2].hasPrefix(runtime.path + "/credmgr-exec.") && lines[2].hasSuffix("/token"))
        #expect(lines[3] == "600")
        #expect(!FileManager.default.fileExists(atPath: lines[2]))
        #expect(try directories.isEmpty)
        let named = try shell(home, #"echo "$MY_TOKEN${ACCESS_TOKEN-none}""#, ["--env", "MY_TOKEN"])
        #expect(named.line == token + "none")
        let listing = try home.run(["exec", "--", "env"]).standardOutput
        // The whole environment of the caller, not a cleaned one.
        #expect(listing.contains("CREDMGR_CACHE=off"))
    }

    @Test func `finds a valid token in the file while it runs`() throws {
        let home = try Home()
        let tenant = try DemoTenant { $0.accessTokenLifetime = 4 }
        try tenant.signIn(at: home)
        let script = #"""
            first=$(cat "$CREDMGR_TOKEN_FILE"); tries=0
            while [ "$(cat "$CREDMGR_TOKEN_FILE")" = "$first" ]; do
                tries=$((tries + 1)); [ $tries -lt 600 ] || exit 1; sleep 0.05
            done
            cat "$CREDMGR_TOKEN_FILE"
            """#
        let outcome = try shell(home, script)
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(tenant.provider.secrets.contains(outcome.line))
        #expect(tenant.provider.counters.tokenRequests >= 2)
        #expect(outcome.standardError.isEmpty, "\(outcome.standardError)")
    }

    @Test(arguments: [0, 1, 42, 255])
    func `gives its exit status`(status: Int32) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        #expect(try shell(home, "exit \(status)").exitStatus == status)
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGKILL])
    func `that dies by a signal has its caller see that`(number: Int32) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        #expect(try shell(home, "kill -\(number) $$").exitStatus == 128 + number)
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGUSR1])
    func `gets the signals that are meant for it`(number: Int32) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        // The command sends the signal to credmgr and ends only by having it passed on.
        let outcome = try shell(
            home, "trap 'echo passed on; exit 9' \(number); kill -\(number) $PPID; while :; do sleep 0.05; done")
        #expect(outcome.standardOutput == "passed on\n")
        #expect(outcome.exitStatus == 9)
    }

    @Test func `gets the limits and the file mode of the caller, not those of a keeper of secrets`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let plain = try ChildProcess(
            "/bin/sh",
            [
                "-c",
                "umask 0013; ulimit -S -c 100; exec \"$0\" exec -- /bin/sh -c 'umask; ulimit -c; ulimit -H -c'; ulimit -H -c",
                Home.program,
            ],
            environment: home.environment
        ).run()
        let hard = try ChildProcess("/bin/sh", ["-c", "ulimit -H -c"]).run().line
        #expect(plain.standardOutput == "0013\n100\n\(hard)\n", "\(plain.standardError)")
    }

    @Test func `is not run without a token, and its absence is told before one is asked for`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try home.run(["exec", "--", "true"], exits: 3)
        try tenant.signIn(at: home)
        let requests = tenant.provider.counters.tokenRequests
        try home.run(["exec", "--", "no-such-program"], exits: 2)
        try home.run(["exec", "--env", "1X", "--", "true"], exits: 2)
        try home.run(["exec"], exits: 2)
        #expect(tenant.provider.counters.tokenRequests == requests)
    }

    @Test func `The directory of a killed process is removed by the next`() throws {
        let home = try Home(runtime: runtime), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let killed = try shell(home, #"kill -9 $PPID; echo "$CREDMGR_TOKEN_FILE""#)
        #expect(killed.exitStatus == 137)
        #expect(try directories.count == 1)
        #expect(FileManager.default.fileExists(atPath: killed.line))
        try home.run(["exec", "--", "true"])
        #expect(try directories.isEmpty)
    }

    @Test func `has its file in shared memory if the runtime directory is on a disk`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let outcome = try shell(home, #"echo "$CREDMGR_TOKEN_FILE"; stat -f -c %T "$CREDMGR_TOKEN_FILE""#)
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("/dev/shm/credmgr-exec.") == true && lines.last == "tmpfs", "\(lines)")
        #expect(lines.first.map { FileManager.default.fileExists(atPath: $0) } == false)
        #expect(!FileManager.default.fileExists(atPath: home.path + "/run/credmgr"))
    }

    @Test(.needs(.root), .needs(.namespaces))
    func `is outlived by a refresh that its container would end`() throws {
        let home = try Home(["CREDMGR_STORE": "file"], runtime: runtime)
        let tenant = try DemoTenant {
            $0.rotation = .revokesOld
            $0.accessTokenLifetime = 4
        }
        try tenant.signIn(at: home)
        let process = try ChildProcess(
            "unshare",
            ["--pid", "--fork", "--mount-proc", Home.program, "exec", "--", "sh", "-c", "echo begun; cat"],
            environment: home.environment
        ).start(input: .pipe)
        try process.wait(for: "begun", on: .output)
        tenant.provider.holdTokenReplies(1)
        #expect(tenant.provider.waitForHeldTokenReplies())
        process.closeInput()
        try process.wait(for: "credmgr waits for a running refresh")
        #expect(process.isRunning)
        tenant.provider.releaseTokenReplies()
        #expect(try process.outcome().exitStatus == 0)
        try home.run(["token", "--force-refresh"])
        #expect(tenant.provider.counters.reusesDetected == 0)
    }

    @Test(.needs(.root), .needs(.namespaces))
    func `runs without its file if no directory is in memory, and does not start if the file is required`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        func exec(_ more: [String]) throws -> ChildProcess.Outcome {
            let script = #"mount --bind /tmp /dev/shm && exec "$0" "$@""#
            return try ChildProcess(
                "unshare",
                ["--mount", "sh", "-c", script, Home.program, "exec"] + more
                    + ["--", "sh", "-c", #"echo "$ACCESS_TOKEN"; echo "${CREDMGR_TOKEN_FILE-none}""#],
                environment: home.environment
            ).run()
        }
        let token = try home.run(["token"]).line
        let without = try exec([])
        #expect(without.exitStatus == 0 && without.standardOutput == token + "\nnone\n", "\(without.standardError)")
        #expect(without.standardError.contains("the command runs without CREDMGR_TOKEN_FILE"))
        let refused = try exec(["--file-env", "TOKEN_FILE"])
        #expect(refused.exitStatus == 5 && refused.standardOutput.isEmpty)
        #expect(refused.standardError.contains("no directory in memory"))
    }
}
