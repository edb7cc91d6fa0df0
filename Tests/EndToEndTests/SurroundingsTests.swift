import Foundation
import TestSupport
import Testing

/// Machines that are not as they should be.
@Suite struct SurroundingsTests {
    private let home: Home
    private let tenant: DemoTenant
    private let token: String

    init() throws {
        home = try Home(["CREDMGR_STORE": "file"])
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        token = try home.run(["token"]).line
    }

    @Test(arguments: [
        ["LC_ALL": "xx_YY.UTF-8", "LANG": "xx_YY"], ["XDG_RUNTIME_DIR": ""], ["XDG_RUNTIME_DIR": "/nonexistent"],
        ["PATH": ""], ["TERM": "none", "COLUMNS": "x"],
    ])
    func `a token is printed all the same`(_ variables: [String: String]) throws {
        let outcome = try home.run(["token"], environment: variables)
        #expect(outcome.standardOutput == token + "\n" && outcome.standardError.isEmpty)
        #expect(try home.run(["accounts"], environment: variables).standardOutput.contains("alice@example.com"))
    }

    @Test func `another version's program in PATH is not taken for this one`() throws {
        try home.write("#!/bin/sh\nexit 1\n", to: "old/credmgr", mode: 0o700)
        let shown = try home.run(
            ["setup", "git", "--host", "git.example.com", "--type", DemoTenant.typeName, "--rule", "--dry-run"],
            environment: ["PATH": home.path + "/old:/usr/bin:/bin"])
        let path = URL(fileURLWithPath: Home.program).resolvingSymlinksInPath().path
        #expect(shown.standardOutput.contains(path + " git-credential"))
    }

    @Test(.needs(.namespaces))
    func `root is a user like any other`() throws {
        func run(_ words: String...) throws -> ChildProcess.Outcome {
            try ChildProcess(
                "bwrap",
                ["--unshare-user", "--uid", "0", "--gid", "0", "--dev-bind", "/", "/", Home.program] + words,
                environment: home.environment
            ).run()
        }
        #expect(try run("token").standardOutput == token + "\n")
        let refreshed = try run("token", "--force-refresh")
        #expect(refreshed.exitStatus == 0 && refreshed.standardOutput != token + "\n", "\(refreshed.standardError)")
        #expect(try home.run(["token"]).standardOutput == refreshed.standardOutput)
    }

    @Test func `a user with an unusable home gets the name of the directory`() throws {
        let file = try home.write("no folder", to: "outside/file")
        let environment = [
            "PATH": "/usr/bin:/bin", "HOME": file + "/home",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus",
        ]
        for words in [
            ["accounts"], ["token"], ["store", "status"], ["logout", "--all", "--yes"], ["refresh", "--all"],
        ] {
            let outcome = try ChildProcess(Home.program, words, environment: environment).run()
            #expect(outcome.exitStatus == 1 || outcome.exitStatus == 5, "\(words): \(outcome.exitStatus)")
            #expect(outcome.standardOutput.isEmpty)
            #expect(outcome.standardError.hasPrefix("credmgr: error: "), "\(words): \(outcome.standardError)")
            #expect(outcome.standardError.contains(file + "/home/"), "\(words): \(outcome.standardError)")
        }
        #expect(home.text(of: "outside/file") == "no folder")
    }

    @Test(.needs(.root))
    func `a user without a home is told so`() throws {
        for words in [["accounts"], ["token"], ["refresh", "--all"], ["types"]] {
            // The database of users knows no such number.
            let outcome = try ChildProcess(
                "setpriv", ["--reuid", "54321", "--regid", "54321", "--clear-groups", Home.program] + words,
                environment: ["PATH": "/usr/bin:/bin"]
            ).run()
            #expect(outcome.exitStatus == 2 && outcome.standardOutput.isEmpty, "\(words): \(outcome.exitStatus)")
            #expect(
                outcome.standardError == "credmgr: error: there is no home directory\ncredmgr: hint: set HOME\n")
        }
    }

    @Test(
        .needs(.namespaces),
        arguments: [
            ("libcurl.so.4", "libcurl4", ["token", "--force-refresh"]),
            ("libcrypto.so.3", "libssl3", ["demo"]),
            ("libmicrohttpd.so.12", "libmicrohttpd12", ["demo"]),
        ])
    func `a library that was removed is named with its package`(
        library: String, package: String, words: [String]
    ) throws {
        let folder = "/usr/lib/" + (try ChildProcess("gcc", ["-print-multiarch"]).run().line)
        let path = URL(fileURLWithPath: folder + "/" + library).resolvingSymlinksInPath().path
        let outcome = try ChildProcess(
            "bwrap", ["--dev-bind", "/", "/", "--ro-bind", "/dev/null", path, Home.program] + words,
            environment: home.environment
        ).run()
        #expect(outcome.exitStatus == 1, "\(outcome.exitStatus)")
        let told =
            "credmgr: error: the library \(library) is not installed\ncredmgr: hint: apt-get install \(package)\n"
        #expect(outcome.standardError == told, "\(outcome.standardError)")
        // A cached token needs no variable.
        #expect(try home.run(["token"]).standardOutput == token + "\n")
    }

    @Test(.needs(.namespaces))
    func `a home that cannot be written still gives its token`() throws {
        func run(_ words: String...) throws -> ChildProcess.Outcome {
            try ChildProcess(
                "bwrap", ["--dev-bind", "/", "/", "--ro-bind", home.path, home.path, Home.program] + words,
                environment: home.environment
            ).run()
        }
        #expect(try run("token").standardOutput == token + "\n")
        #expect(try run("accounts").standardOutput.contains("alice@example.com"))
        let refused = try run("token", "--force-refresh")
        #expect(refused.exitStatus == 5 && refused.standardOutput.isEmpty)
        #expect(refused.standardError.contains("Read-only file system"))
        #expect(try home.run(["token"]).line == token)
    }
}
