import CredentialCore
import Foundation
import Platform
import PluginHost
import StrictJSON
import TestSupport
import Testing

/// The ways of containment that a machine denies, and whether the user trusts the plugin.
private struct Place: Sendable, CustomTestStringConvertible {
    var denied: Set<ContainmentWay> = []
    var trusted: [String] = []

    var testDescription: String {
        "without \(denied.map(\.rawValue).sorted()), \(trusted.isEmpty ? "confined" : "trusted")"
    }

    /// The places in which every process that a plugin starts is ended, however fast it multiplies.
    static let sure = [[], [ContainmentWay.namespace]].flatMap { denied in
        [[], ["canned"]].map { Place(denied: Set(denied), trusted: $0) }
    }
    static let all =
        sure + [[], ["canned"]].map { Place(denied: Set(ContainmentWay.allCases), trusted: $0) }
}

/// No process that a plugin starts outlives it, in any number and by any trick.
@Suite(.serialized) struct ContainmentTests {
    /// Children each of which makes another and ends, over and over, from the moment when all are there. A process
    /// that looks at one and kills it comes too late. By themselves they end after 20 seconds.
    private static let bomb = """
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        int main(int count, char **words) {
            time_t end = time(NULL) + 20;
            int made = 0, gate[2];
            if (pipe(gate) != 0) return 1;
            for (; made < atoi(words[2]); made++) {
                pid_t number = fork();
                if (number < 0) return 1;
                if (number > 0) continue;
                char open;
                setsid();
                for (int stream = 0; stream < 3; stream++) close(stream);
                close(gate[1]);
                read(gate[0], &open, 1);
                while (time(NULL) < end) {
                    if (fork() > 0) _exit(0);
                }
                _exit(0);
            }
            FILE *file = fopen(words[1], "w");
            fprintf(file, "%d", made);
            fclose(file);
            return count != 3;
        }
        """

    /// How long the end may take, a good deal less than the bomb lives.
    private static let limit = Duration.seconds(12)

    private func launcher(_ home: PluginHome, _ place: Place, seconds: Int = 20) -> PluginLauncher {
        PluginLauncher(
            environment: home.environment, walls: home.walls(trusting: place.trusted, without: place.denied),
            seconds: seconds)
    }

    private func begin(_ home: PluginHome, _ place: Place, seconds: Int = 20) throws {
        let provider = try #require(try home.catalog().provider(named: "canned"))
        let adapter = PluginAdapter(provider, launcher: launcher(home, place, seconds: seconds))
        _ = try adapter.begin(.canned(), in: World().context)
    }

    /// How many children the bomb has: as many as there may be beside a shell and itself, if that is limited.
    private func size(_ place: Place) -> Int { geteuid() == 0 && place.denied.isEmpty ? 100 : 62 }

    /// A home with the bomb in it.
    private func home(_ place: Place, after shell: String = "") throws -> PluginHome {
        let home = try PluginHome()
        try home.install(
            CannedPlugin(
                begin: doneReply,
                // Only built-in commands of the shell: it may get no other process for that.
                before: "'\(home.providers)/canned/bomb' '\(home.seen)/made' \(size(place))\n\(shell)\n"
                    + "printf '%s\\n' '\(doneReply)'\nexit 0"))
        try home.write(Self.bomb, home.base + "/bomb.c")
        let compiled = try ChildProcess(
            "/usr/bin/cc", ["-O2", "-o", home.providers + "/canned/bomb", home.base + "/bomb.c"],
            environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        try #require(compiled.exitStatus == 0, "\(compiled.standardError)")
        return home
    }

    /// Expects that the bomb was there, and that no process of it is left.
    private func expectNoBomb(in home: PluginHome, _ place: Place) throws {
        let left = home.processes.all
        #expect(left.isEmpty, "\(left)")
        #expect(try String(contentsOfFile: home.seen + "/made", encoding: .utf8) == "\(size(place))")
    }

    // MARK: The end

    @Test(.needs(.walls), arguments: Place.sure)
    private func `sixty children and more that fork in loops end with the plugin`(_ place: Place) throws {
        let home = try home(place)
        let time = try ContinuousClock().measure { try begin(home, place) }
        try expectNoBomb(in: home, place)
        #expect(time < Self.limit)
    }

    @Test(.needs(.walls), arguments: Place.sure)
    private func `sixty children and more that fork in loops end with the time of the plugin`(_ place: Place) throws
    {
        let home = try home(place, after: "while :; do :; done")
        let time = ContinuousClock().measure {
            let error = #expect(throws: CredentialError.self) { try begin(home, place, seconds: 2) }
            #expect(error?.code == .temporary)
        }
        try expectNoBomb(in: home, place)
        #expect(time < Self.limit)
    }

    @Test(.needs(.walls))
    func `SIGKILL of the supervisor ends all that the plugin started`() throws {
        let home = try PluginHome()
        try home.install(
            CannedPlugin(
                begin: doneReply, before: "/usr/bin/setsid /bin/sleep 600 & while :; do /bin/sleep 1; done"))
        let run = Background { try self.begin(home, Place()) }
        let supervisor = try home.processes.first(with: "__confine")
        _ = try home.processes.first(with: "sleep 600")
        kill(supervisor.id, SIGKILL)
        #expect(throws: CredentialError.self) { try run.value(within: 60) }
        // The kernel ends them, and no process waits for that.
        try home.processes.end(within: 10)
    }

    // MARK: Limits

    /// Root has no such limit in a namespace: the kernel does not count its processes.
    @Test(.needs(.walls), arguments: Place.sure.filter { geteuid() != 0 || !$0.denied.isEmpty })
    private func `it has 64 processes at a time, and a new one when one has ended`(_ place: Place) throws {
        let home = try PluginHome()
        try home.write(
            """
            import os, signal
            def children(most):
                made = []
                while len(made) < most:
                    reading, writing = os.pipe()
                    try:
                        child = os.fork()
                    except BlockingIOError:
                        break
                    if child == 0:
                        os.write(writing, b"x")
                        signal.pause()
                    os.close(writing)
                    # One that was killed before it ran has written nothing.
                    if os.read(reading, 1) != b"x":
                        os.waitpid(child, 0)
                        break
                    made.append(child)
                return made
            first = children(100)
            print(len(first))
            for child in first[:10]:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            print(len(children(100)))
            """, home.seen + "/many.py")
        // The shell and Python are two of them.
        #expect(
            try says(
                "/usr/bin/python3 -S '\(home.seen)/many.py'", in: home, trusting: place.trusted,
                without: place.denied) == ["62", "10"])
        #expect(home.processes.all.isEmpty)
    }

    @Test(.needs(.walls), arguments: [[], ["canned"]])
    func `it starts no process that is not traced`(_ trusted: [String]) throws {
        #if arch(x86_64)
        let clone = 56
        #else
        let clone = 220
        #endif
        let home = try PluginHome()
        // CLONE_UNTRACED with SIGCHLD, the latter alone, and clone3. A child ends at once.
        try home.write(
            """
            import ctypes, errno, os
            call = ctypes.CDLL(None, use_errno=True).syscall
            for words in ((\(clone), 0x00800000 | 17, 0, 0, 0, 0), (\(clone), 17, 0, 0, 0, 0), (435, 0, 0)):
                ctypes.set_errno(0)
                result = call(*map(ctypes.c_long, words))
                if result == 0:
                    os._exit(0)
                print("ok" if result > 0 else errno.errorcode[ctypes.get_errno()], flush=True)
            """, home.seen + "/untraced.py")
        let place = Place(denied: [.namespace], trusted: trusted)
        #expect(
            try says(
                "/usr/bin/python3 -S '\(home.seen)/untraced.py'", in: home, trusting: place.trusted,
                without: place.denied)
                == ["EPERM", "ok", "ENOSYS"])
    }

    @Test(.needs(.walls), arguments: Place.sure)
    private func `threads are no processes, and short programs one after the other no crowd`(_ place: Place) throws
    {
        let home = try PluginHome()
        try home.write(
            """
            import subprocess, threading
            gate = threading.Barrier(31)
            threads = [threading.Thread(target=gate.wait) for _ in range(30)]
            for thread in threads:
                thread.start()
            gate.wait()
            for _ in range(300):
                subprocess.run(["/bin/true"], check=True)
            print("done")
            """, home.seen + "/short.py")
        #expect(
            try says(
                "/usr/bin/python3 -S '\(home.seen)/short.py'", in: home, trusting: place.trusted,
                without: place.denied) == ["done"])
    }

    @Test(.needs(.walls), arguments: Place.all)
    private func `each of its processes has 2 GiB of address space, or the amount in its manifest`(_ place: Place)
        throws
    {
        let home = try PluginHome()
        #expect(
            try says("ulimit -v; ulimit -H -v", in: home, trusting: place.trusted, without: place.denied) == [
                "2097152", "2097152",
            ])
        #expect(
            try says(
                "ulimit -v", needs: JSONObject(["memory": 4096]), in: home, trusting: place.trusted,
                without: place.denied) == ["4194304"])
    }

    @Test(arguments: [0, 63, 1_048_577, "4096", .decimal("1.5")] as [JSONValue])
    func `a manifest that asks for other memory is refused`(_ memory: JSONValue) throws {
        let home = try PluginHome()
        var plugin = CannedPlugin(begin: doneReply)
        plugin.needs = JSONObject(["memory": memory])
        try home.install(plugin)
        let error = #expect(throws: CredentialError.self) { try home.catalog().provider(named: "canned") }
        #expect(error?.message.contains("'needs.memory'") == true)
    }

    // MARK: The user namespace

    @Test(.needs(.walls), .needs(.root), .needs(.namespaces))
    func `another user than root has a namespace of users, himself in it, and no capability`() throws {
        let home = try PluginHome()
        for path in [home.base, home.seen] { chmod(path, 0o777) }
        // As it is installed: users cannot read it, so that its own files in /proc are closed to its user.
        let program = home.base + "/credmgr-installed"
        try #require(
            try ChildProcess("install", ["-m", "711", BuiltProgram.path, program]).run().exitStatus == 0)
        try home.install(
            """
            #!/usr/bin/python3 -S
            import os, time
            facts = dict(line[:-1].split(":\\t", 1) for line in open("/proc/self/status"))
            print(os.getuid(), os.getgid(), os.getpid(), facts["NSpid"].split()[1])
            print(*(facts[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs")))
            print(*open("/proc/self/uid_map").read().split())
            print(len(os.listdir("/proc/self/fd")))
            made = 0
            try:
                while made < 100:
                    if os.fork() == 0:
                        time.sleep(60)
                        os._exit(0)
                    made += 1
            except BlockingIOError:
                pass
            print(made, flush=True)
            """, home.base + "/facts")
        let outcome = try ChildProcess(
            "setpriv",
            [
                "--reuid", "65534", "--regid", "65534", "--clear-groups", "/bin/sh", "-c",
                #""$0" __confine --caller $$ --seconds 30 --unconfined -- "$1" 3> "$2""#, program,
                home.base + "/facts", home.seen + "/report",
            ], environment: home.environment
        ).run(seconds: 60)
        #expect(try String(contentsOfFile: home.seen + "/report", encoding: .utf8) == "confine 2\n")
        let none = String(repeating: "0", count: 16)
        #expect(
            outcome.standardOutput.split(separator: "\n").map(String.init) == [
                "65534 65534 2 2", "\(none) \(none) \(none) \(none) 1", "65534 65534 1",
                // 0, 1 and 2, and the one that the folder is read through.
                "4", "63",
            ], "\(outcome.standardError)")
        #expect(home.processes.all.isEmpty)
    }

    // MARK: Where it cannot be done

    @Test(.needs(.walls)) func `a machine that denies both ways is named`() throws {
        let home = try PluginHome()
        func lacking(_ denied: Set<ContainmentWay>) throws -> [String] {
            try home.catalog(walls: home.walls(without: denied)).lackingWalls().map(\.description)
        }
        #expect(try lacking([]) == [])
        #expect(try lacking([.namespace]) == [])
        #expect(try lacking([.namespace, .tracing]) == [SandboxFeature.processes.consequence.description])
    }

    @Test func `a supervisor that does not end is named, and not killed`() throws {
        let home = try PluginHome()
        try home.install(CannedPlugin(begin: doneReply))
        // It would end by itself after a minute.
        try home.install(
            """
            #!/bin/sh
            trap 'echo asked > "\(home.seen)/asked"' TERM
            echo 'confine 2' >&3
            for second in $(/usr/bin/seq 60); do /bin/sleep 1; done
            """, home.base + "/supervisor")
        let walls = SandboxPolicy(supervisor: home.base + "/supervisor", keptOut: [], patience: 2_000)
        let provider = try #require(try home.catalog().provider(named: "canned"))
        let adapter = PluginAdapter(
            provider, launcher: PluginLauncher(environment: home.environment, walls: walls, seconds: 1))
        let error = #expect(throws: CredentialError.self) { _ = try adapter.begin(.canned(), in: World().context) }
        let supervisor = try home.processes.first(with: "/supervisor")
        #expect(error?.code.exitStatus == 1)
        #expect(error?.message.contains("canned") == true)
        #expect(error?.message.contains("process \(supervisor.id),") == true, "\(error?.message ?? "")")
        #expect(FileManager.default.fileExists(atPath: home.seen + "/asked"))
        kill(-supervisor.id, SIGKILL)
        try home.processes.end(within: 10)
    }

    // MARK: Ends of processes

    @Test func `a child in a session of its own does not outlive it, as one did`() throws {
        let home = try PluginHome()
        _ = try says(
            """
            /usr/bin/setsid /bin/sh -c '
                echo made > "\(home.seen)/first"
                (/usr/bin/setsid /bin/sleep 600 & echo made > "\(home.seen)/second") & wait' > /dev/null 2>&1 < /dev/null &
            while ! [ -s '\(home.seen)/second' ]; do /bin/sleep 0.01; done
            """, in: home)
        expectNothing(leftIn: home, of: "first", "second")
    }

    /// The signal of its parent's death is a second safeguard: a process that clears it, and gathers orphans, is
    /// ended by the first, the supervisor.
    @Test(
        arguments: [[], ["canned"]],
        [[], [.namespace], [.namespace, .tracing]] as [Set<ContainmentWay>])
    func `one that clears the signal of its parent's death, and gathers orphans, is ended all the same`(
        _ trusted: [String], _ denied: Set<ContainmentWay>
    ) throws {
        let home = try PluginHome()
        // PR_SET_PDEATHSIG is 1, PR_SET_CHILD_SUBREAPER is 36.
        let program = """
            import ctypes, os, signal
            prctl = ctypes.CDLL(None, use_errno=True).prctl
            def deaf():
                prctl(1, 0, 0, 0, 0)
                for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                    signal.signal(number, signal.SIG_IGN)
            prctl(36, 1, 0, 0, 0)
            deaf()
            reading, writing = os.pipe()
            if os.fork() == 0:
                os.setsid()
                deaf()
                open("\(home.seen)/child", "w").close()
                if os.fork() == 0:
                    open("\(home.seen)/grandchild", "w").close()
                    os.write(writing, b"x")
                for stream in (0, 1, 2):
                    os.close(stream)
                while True:
                    signal.pause()
            os.read(reading, 1)
            held = ctypes.c_int(9)
            prctl(2, ctypes.byref(held), 0, 0, 0)
            print(held.value)
            """
        try home.write(program, home.seen + "/deaf.py")
        let said = try says(
            "/usr/bin/python3 -S '\(home.seen)/deaf.py'", in: home, trusting: trusted, without: denied)
        #expect(said == ["0"], "it has cleared it: \(said)")
        expectNothing(leftIn: home, of: "child", "grandchild")
    }

    @Test func `one that the user trusts has no walls, and is ended all the same`() throws {
        let home = try PluginHome()
        try home.write("private", home.base + "/notes")
        let said = try says(
            """
            cat '\(home.base)/notes'; echo
            /usr/bin/setsid /bin/sleep 600 > /dev/null 2>&1 < /dev/null & echo made > '\(home.seen)/child'
            """, in: home, trusting: ["canned"])
        #expect(said == ["private"])
        expectNothing(leftIn: home, of: "child")
    }

    /// Expects that the children which wrote these files were there, and that neither they nor any other process is
    /// left.
    private func expectNothing(
        leftIn home: PluginHome, of names: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for name in names {
            #expect(
                FileManager.default.fileExists(atPath: home.seen + "/" + name), "\(name) was never there",
                sourceLocation: sourceLocation)
        }
        let left = home.processes.all
        #expect(left.isEmpty, "\(left)", sourceLocation: sourceLocation)
    }
}
