import Foundation
import TestSupport
import Testing

@Suite struct `Standard output` {
    /// Runs words in a shell, `$CREDMGR` being the program.
    private func shell(_ script: String, _ home: Home) throws -> ChildProcess.Outcome {
        try ChildProcess(
            "/bin/sh", ["-c", script], environment: home.environment.merging(["CREDMGR": Home.program]) { $1 }
        ).run()
    }

    @Test(arguments: [
        "token", "token --format json", "accounts", "accounts --json", "types", "claims", "which",
        "request GET /tasks",
        "store status", "--help", "--version", "completion bash", "types show B2C_Acccount",
        "login --type B2C_Acccount --print-url",
    ])
    func `A result that cannot be written is a failure`(words: String) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try home.run(["request", "POST", "/tasks", "--form", "task=milk"])
        let full = try shell("\"$CREDMGR\" \(words) > /dev/full", home)
        #expect(full.exitStatus == 1)
        #expect(full.standardError.contains("credmgr: error: cannot write"))
        let closed = try shell("\"$CREDMGR\" \(words) >&-", home)
        #expect(closed.exitStatus == 1)
        let gone = try shell("(\"$CREDMGR\" \(words); echo $? >&2) | true", home)
        // A reader that ends before or after the write; either way credmgr prints no text on another stream.
        #expect(gone.standardOutput.isEmpty)
        #expect(!gone.standardError.contains("ey"))
    }

    @Test func `A limit on the size of files is an error, and costs no sign-in`() throws {
        let home = try Home(["CREDMGR_STORE": "file"]), tenant = try DemoTenant { $0.rotation = .revokesOld }
        try tenant.signIn(at: home)
        let limited = try shell("ulimit -f 0; \"$CREDMGR\" token --force-refresh", home)
        #expect(limited.exitStatus == 5, "\(limited.standardError)")
        #expect(limited.standardError.contains("File too large"), "\(limited.standardError)")
        #expect(tenant.provider.counters.refreshes == 0)
        // A result that goes to a file is subject to the limit, too.
        let result = try shell("ulimit -f 0; \"$CREDMGR\" token > \"$HOME/result\"", home)
        #expect(result.exitStatus == 1)
        #expect(result.standardError.contains("credmgr: error: cannot write"), "\(result.standardError)")
        try home.run(["token", "--force-refresh"])
        #expect(tenant.provider.counters.reusesDetected == 0)
        // The program that `exec` runs ends by the signal, as without credmgr.
        let child = try shell(
            "\"$CREDMGR\" exec -- sh -c 'ulimit -f 0; echo x > \"$HOME/child\"'", home)
        #expect(child.exitStatus == 128 + SIGXFSZ, "\(child.standardError)")
    }

    @Test(.needs(.root)) func `A token file that is a mount point is refused with the remedy`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let script = """
            cd "$HOME" && mkdir -p inner && echo old > outer && echo old > inner/token && mount --bind outer inner/token
            "$CREDMGR" token --output inner/token
            status=$?
            cat inner/token
            ls -A inner
            exit $status
            """
        let outcome = try ChildProcess(
            "/usr/bin/unshare", ["-m", "/bin/sh", "-c", script],
            environment: home.environment.merging(["CREDMGR": Home.program]) { $1 }
        ).run()
        #expect(outcome.exitStatus == 1, "\(outcome.standardError)")
        #expect(outcome.standardError.contains("cannot replace the separately mounted file inner/token"))
        #expect(outcome.standardError.contains("hint: mount the directory of the file"), "\(outcome.standardError)")
        // No output file was written, and no other file is left beside it.
        #expect(outcome.standardOutput == "old\ntoken\n")
    }

    @Test func `Closed standard streams do not become files`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let outcome = try shell("\"$CREDMGR\" token 0<&- 2>&-", home)
        #expect(outcome.exitStatus == 0 && outcome.standardOutput.hasPrefix("ey"))
        _ = try shell("\"$CREDMGR\" token --force-refresh 0<&- 1>&- 2>&-", home)
        let token = try home.run(["token"]).line
        for (name, content) in home.files {
            #expect(content.range(of: Data(token.utf8)) == nil, "\(name)")
            #expect(content.range(of: Data("credmgr: ".utf8)) == nil || name.contains("/accounts/"), "\(name)")
        }
        try home.run(["token", "--force-refresh"])
    }

    @Test func `Quiet says nothing, verbose never a token`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        #expect(try home.run(["token", "-q", "--force-refresh"]).standardError.isEmpty)
        let verbose = try home.run(["token", "-v", "--force-refresh"])
        for secret in tenant.provider.secrets { #expect(!verbose.standardError.contains(secret)) }
        #expect(try home.run(["accounts", "-q", "--group", "empty"]).standardError.isEmpty)
    }
}
