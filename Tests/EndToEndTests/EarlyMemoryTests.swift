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

    @Test(arguments: [(0o755, "open"), (0o711, "closed")])
    func `A program that nobody may read keeps its memory to itself from the first moment`(
        _ mode: Int, _ outcome: String
    ) throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o755)
        let program = folder.path + "/credmgr", library = folder.path + "/stop.so"
        try Self.stopper.write(toFile: folder.path + "/stop.c", atomically: false, encoding: .utf8)
        try Self.attack.write(toFile: folder.path + "/attack.py", atomically: false, encoding: .utf8)
        for (tool, arguments) in [
            ("/usr/bin/install", ["-m", String(mode, radix: 8), Home.program, program]),
            ("/usr/bin/cc", ["-shared", "-fPIC", "-o", library, folder.path + "/stop.c"]),
        ] {
            try #require(
                try ChildProcess(tool, arguments, environment: ["PATH": "/usr/bin:/bin"]).run().exitStatus == 0)
        }
        for name in ["stop.so", "attack.py"] { chmod(folder.path + "/" + name, 0o644) }
        let tried = try ChildProcess(
            "/usr/bin/setpriv",
            [
                "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3",
                folder.path + "/attack.py", library, program,
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        #expect(tried.standardOutput == outcome + "\n", "\(tried.standardError)")
    }
}
