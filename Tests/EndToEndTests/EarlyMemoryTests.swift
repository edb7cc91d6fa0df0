import Foundation
import TestSupport
import Testing

/// The moment between a program's `exec` and its first instruction, when it has not closed its memory yet.
@Suite(.needs(.root))
struct EarlyMemoryTests {
    /// Stops every program that it is loaded into before the program's own first instruction.
    private static let stopper = """
        #include <signal.h>
        __attribute__((constructor)) static void stop(void) { raise(SIGSTOP); }
        """

    /// Starts the program, stops it at its first moment, and has another process of its user open its memory.
    private static let attack = """
        import os, signal, sys, time
        child = os.fork()
        if child == 0:
            os.environ["LD_PRELOAD"] = sys.argv[1]
            os.execv(sys.argv[2], [sys.argv[2], "--version"])
        os.waitpid(child, os.WUNTRACED)
        attacker = os.fork()
        if attacker == 0:
            try:
                os.open(f"/proc/{child}/mem", os.O_RDONLY)
                print("open")
            except PermissionError:
                print("closed")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(attacker, 0)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        """

    /// The result of the attack on a program: `open` or `closed`.
    private func finds(at program: String, _ folder: TemporaryFolder) throws -> String {
        let library = folder.path + "/stop.so"
        try Self.stopper.write(toFile: folder.path + "/stop.c", atomically: false, encoding: .utf8)
        try Self.attack.write(toFile: folder.path + "/attack.py", atomically: false, encoding: .utf8)
        let compiled = try ChildProcess(
            "/usr/bin/cc", ["-shared", "-fPIC", "-o", library, folder.path + "/stop.c"],
            environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        try #require(compiled.exitStatus == 0, "\(compiled.standardError)")
        for name in ["stop.so", "attack.py"] { chmod(folder.path + "/" + name, 0o644) }
        let tried = try ChildProcess(
            "/usr/bin/setpriv",
            [
                "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3",
                folder.path + "/attack.py", library, program,
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        try #require(tried.exitStatus == 0, "\(tried.standardError)")
        return tried.standardOutput.trimmingCharacters(in: .newlines)
    }

    /// `scripts/setup`, which finds this build if `scripts/build` would make another.
    private func setup(_ words: [String], _ folder: TemporaryFolder) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let tree = folder.path + "/tree"
        if !FileManager.default.fileExists(atPath: tree) {
            try FileManager.default.createDirectory(atPath: tree + "/docs", withIntermediateDirectories: true)
            for name in ["scripts", "docs/templates"] {
                try FileManager.default.copyItem(atPath: root + "/" + name, toPath: tree + "/" + name)
            }
            try FileManager.default.removeItem(atPath: tree + "/scripts/build")
            for (program, name) in [(Home.program, "credmgr"), (try SmallProgram.compiled.get(), "credmgr-fast")] {
                let copied = try ChildProcess("install", ["-m", "755", program, tree + "/" + name]).run()
                try #require(copied.exitStatus == 0, "\(copied.standardError)")
            }
            try installProgram("#!/bin/sh\necho '\(tree)/credmgr'\n", at: tree + "/scripts/build", mode: 0o755)
        }
        // A narrow umask of root does not affect the files it installs.
        let outcome = try ChildProcess(
            "/bin/sh", ["-c", #"umask 077; exec "$0" "$@""#, tree + "/scripts/setup"] + words,
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder.path]
        ).run()
        try #require(outcome.exitStatus == 0, "\(outcome.standardError)")
    }

    @Test func `A program without read permission protects its memory from the first moment`() throws {
        let folder = try TemporaryFolder(), prefix = folder.path + "/prefix"
        chmod(folder.path, 0o755)
        try FileManager.default.createDirectory(atPath: prefix, withIntermediateDirectories: false)
        chmod(prefix, 0o755)
        try setup(["install", prefix], folder)
        // The attack has its own code loaded, which the small program, being static, does not let in.
        let small = prefix + "/bin/credmgr", program = prefix + "/libexec/credmgr/credmgr"
        for path in [small, program] {
            let facts = try FileManager.default.attributesOfItem(atPath: path)
            #expect(facts[.posixPermissions] as? Int == 0o711)
            #expect(facts[.ownerAccountID] as? Int == 0)
        }
        #expect(try finds(at: program, folder) == "closed")
        // The mode closes it: the same program, readable, is open to any early process.
        #expect(chmod(program, 0o755) == 0)
        #expect(try finds(at: program, folder) == "open")
        try setup(["uninstall", prefix], folder)
        for path in [small, program] { #expect(!FileManager.default.fileExists(atPath: path)) }
    }
}
