import CLinux
import CredentialCore
import Foundation
import Platform
import PluginHost
import StrictJSON
import TestSupport
import Testing

/// The actions that a plugin attempts and cannot take. Each wall is tried by a plugin: shell and Python, confined
/// by the real program.
@Suite struct SandboxProfileTests {
    /// Runs Python in a plugin: one line per step, `ok` or the name of the error.
    private func tries(
        _ steps: [String], needs: JSONObject = JSONObject(), in home: PluginHome, trusting: [String] = [],
        without denied: Set<ContainmentWay> = []
    ) throws -> [String] {
        let program = """
            import ctypes, errno, os, signal, socket
            libc = ctypes.CDLL(None, use_errno=True)
            def call(number, *arguments):
                if libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]) < 0:
                    raise OSError(ctypes.get_errno(), "call")
            def call_of(step):
                ctypes.set_errno(0)
                if step() < 0:
                    raise OSError(ctypes.get_errno(), "call")
            def attempt(step):
                try:
                    step()
                    print("ok")
                except OSError as error:
                    print(errno.errorcode.get(error.errno, error.errno))
            \(steps.map { "attempt(lambda: \($0))" }.joined(separator: "\n"))
            """
        try home.write(program, home.seen + "/try.py")
        return try says(
            "/usr/bin/python3 -S '\(home.seen)/try.py'", needs: needs, in: home, trusting: trusting,
            without: denied)
    }

    @Test(.needs(.walls))
    func `it reads its own folder, programs and settings of the system, and nothing of the user's`() throws {
        let home = try PluginHome()
        let store = home.base + "/credmgr/groups"
        try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
        try home.write("secret", store + "/accounts")
        try home.write("private", home.base + "/notes")
        let said = try says(
            """
            for file in '\(home.providers)/canned/manifest.json' /usr/bin/env /etc/resolv.conf \\
                '\(store)/accounts' '\(home.base)/notes' /etc/passwd /proc/self/environ /proc/$PPID/environ; do
                if head -c 1 "$file" > /dev/null 2>&1; then echo yes; else echo no; fi
            done
            ls '\(store)' > /dev/null 2>&1 && echo listed
            echo x 2> /dev/null > '\(home.providers)/canned/new' && echo written
            """, in: home)
        #expect(said.prefix(3) == ["yes", "yes", "yes"])
        #expect(said.dropFirst(3).prefix(5).allSatisfy { $0 == "no" }, "\(said)")
        #expect(!said.contains("listed") && !said.contains("written"))
    }

    @Test(.needs(.walls)) func `it cannot change files that it cannot open`() throws {
        let home = try PluginHome()
        let file = home.base + "/credmgr/record"
        try home.write("record", file, mode: 0o600)
        let name = "'\(file)'"
        let tried = try tries(
            [
                "os.truncate(\(name), 0)", "os.chmod(\(name), 0o666)", "os.chown(\(name), -1, -1)",
                "os.utime(\(name), (1, 1))", "os.unlink(\(name))", "os.rename(\(name), '\(home.seen)/r')",
                "os.link(\(name), '\(home.seen)/r')", "os.setxattr(\(name), 'user.x', b'1')",
                // fchmodat2(2), which the headers of today do not have
                "call(452, -100, ctypes.c_char_p(b\(name)), 0o666, 0)",
            ], in: home)
        #expect(
            tried.count == 9 && tried.allSatisfy { ["EACCES", "EPERM", "EXDEV", "ENOSYS"].contains($0) }, "\(tried)"
        )
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "record")
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    }

    @Test(.needs(.walls)) func `it changes no mode, owner or attribute of files that it may read`() throws {
        // Each would change no state, were it allowed.
        let open = "os.open('/usr/bin/true', os.O_RDONLY)"
        let mode = try #require(
            try FileManager.default.attributesOfItem(atPath: "/usr/bin/true")[.posixPermissions] as? Int)
        let tried = try tries(
            [
                "os.fchmod(\(open), \(mode))", "os.fchown(\(open), -1, -1)",
                "os.setxattr(\(open), 'user.credmgr', b'1')", "os.removexattr(\(open), 'user.credmgr')",
            ], in: PluginHome())
        #expect(tried == Array(repeating: "EPERM", count: 4))
    }

    @Test(.needs(.walls)) func `it gets no socket but those of its manifest, and no local one at all`()
        throws
    {
        let families = ["AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_ALG", "AF_VSOCK"]
        let sockets = families.map { "socket.socket(socket.\($0), socket.SOCK_DGRAM)" } + ["socket.socketpair()"]
        #expect(try tries(sockets, in: PluginHome()) == Array(repeating: "EACCES", count: 8))
        let needs = JSONObject(["network": ["ipv4"]])
        #expect(
            try tries(sockets, needs: needs, in: PluginHome())
                == ["EACCES", "ok"] + Array(repeating: "EACCES", count: 6))
    }

    @Test(.needs(.walls), .needs(.keyring))
    func `it does not reach the session bus of the keyring`() throws {
        let home = try PluginHome(), keyring = try PrivateKeyring(.nobody)
        let shell = """
            DBUS_SESSION_BUS_ADDRESS='\(keyring.busAddress)' /usr/bin/dbus-send --session --print-reply=literal \\
                --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId > /dev/null 2>&1; echo $?
            """
        let needs = JSONObject(["network": ["ipv4", "ipv6"]])
        #expect(try says(shell, needs: needs, in: home) == ["1"])
        // Without walls it does: it is the walls that keep it away.
        #expect(try says(shell, needs: needs, in: home, trusting: ["canned"]) == ["0"])
    }

    @Test(.needs(.walls)) func `it has none of the calls that go round the walls`() throws {
        #if arch(x86_64)
        let numbers = [
            "keyctl": 250, "add_key": 248, "request_key": 249, "ptrace": 101, "process_vm_readv": 310,
            "process_vm_writev": 311, "bpf": 321, "unshare": 272, "open_by_handle_at": 304,
            "kcmp": 312, "shmget": 29, "shmat": 30, "semget": 64, "msgget": 68, "mq_open": 240,
            "shmctl": 31, "semop": 65, "semtimedop": 220, "semctl": 66, "msgsnd": 69, "msgrcv": 70, "msgctl": 71,
            "mq_unlink": 241,
            "perf_event_open": 298, "userfaultfd": 323, "kexec_load": 246, "kexec_file_load": 320,
            "init_module": 175, "finit_module": 313, "delete_module": 176, "setns": 308, "mount": 165,
            "umount2": 166, "pivot_root": 155, "chroot": 161,
        ]
        #else
        let numbers = [
            "keyctl": 219, "add_key": 217, "request_key": 218, "ptrace": 117, "process_vm_readv": 270,
            "process_vm_writev": 271, "bpf": 280, "unshare": 97, "open_by_handle_at": 265,
            "kcmp": 272, "shmget": 194, "shmat": 196, "semget": 190, "msgget": 186, "mq_open": 180,
            "shmctl": 195, "semop": 193, "semtimedop": 192, "semctl": 191, "msgsnd": 189, "msgrcv": 188,
            "msgctl": 187,
            "mq_unlink": 181,
            "perf_event_open": 241, "userfaultfd": 282, "kexec_load": 104, "kexec_file_load": 294,
            "init_module": 105, "finit_module": 273, "delete_module": 106, "setns": 268, "mount": 40,
            "umount2": 39, "pivot_root": 41, "chroot": 51,
        ]
        #endif
        let everywhere = [
            "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "pidfd_getfd": 438,
            "process_madvise": 440, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
            "fsmount": 432, "fspick": 433, "mount_setattr": 442,
        ]
        let all = numbers.merging(everywhere) { $1 }.map(\.value).sorted()
        let tried = try tries(
            all.map { "call(\($0), 0, 0, 0, 0, 0)" } + ["call(435, 0, 0)", "call(469, 0)"], in: PluginHome())
        #expect(tried.dropLast(2) == Array(repeating: "EPERM", count: all.count)[...], "\(tried)")
        // clone3, and system calls newer than the filter.
        #expect(tried.suffix(2) == ["ENOSYS", "ENOSYS"])
    }

    @Test(.needs(.walls)) func `it makes no namespace, and sets no limits of others`() throws {
        #if arch(x86_64)
        let clone = 56, prlimit = 302
        #else
        let clone = 220, prlimit = 261
        #endif
        // CLONE_NEWUSER, NEWNET, NEWPID, NEWNS, NEWIPC, NEWUTS and NEWCGROUP, with SIGCHLD. A child that there
        // should not be ends at once.
        let flags = [0x1000_0000, 0x4000_0000, 0x2000_0000, 0x2_0000, 0x800_0000, 0x400_0000, 0x200_0000]
        let clones = flags.map { "libc.syscall(\(clone), \($0 | 17), 0, 0, 0, 0) or os._exit(0)" }
        // Without flags it is a fork, which a plugin may.
        let fork = "libc.syscall(\(clone), 17, 0, 0, 0, 0) or os._exit(0)"
        let tried = try tries(
            (clones + [fork]).map { "call_of(lambda: \($0))" }
                + ["call(\(prlimit), \(getpid()), 7, 0, 0)", "call(\(prlimit), 0, 7, 0, 0)"],
            in: PluginHome())
        #expect(tried == Array(repeating: "EPERM", count: 7) + ["ok", "EPERM", "ok"], "\(tried)")
    }

    @Test(.needs(.walls), arguments: [[], [.namespace]] as [Set<ContainmentWay>])
    func `it takes no time from other programs, and sets its own`(_ denied: Set<ContainmentWay>) throws {
        #if arch(x86_64)
        let setAttributes = 314, getAttributes = 315, setDisk = 251
        #else
        let setAttributes = 274, getAttributes = 275, setDisk = 30
        #endif
        // A process of the same user that has no capability either: one that has more is out of reach anyhow. In a
        // namespace there is only its init.
        let words = ["/bin/sleep", "600"]
        let victim =
            try geteuid() == 0
            ? ChildProcess("setpriv", ["--bounding-set", "-all", "--inh-caps", "-all"] + words).start()
            : ChildProcess(words[0], [words[1]]).start()
        defer { victim.kill() }
        let other = denied.isEmpty ? 1 : victim.id
        /// The calls that set the priority, the processors, the scheduler and its parameters of a process, in that
        /// order: to their present values.
        func steps(_ who: String) -> [String] {
            [
                "os.setpriority(os.PRIO_PROCESS, \(who), os.getpriority(os.PRIO_PROCESS, \(who)))",
                "call(\(setDisk), 1, \(who), 0)", "os.sched_setaffinity(\(who), os.sched_getaffinity(\(who)))",
                "os.sched_setscheduler(\(who), os.SCHED_OTHER, os.sched_param(0))",
                "os.sched_setparam(\(who), os.sched_param(0))",
                "(lambda room: call(\(getAttributes), \(who), room, 48, 0) or call(\(setAttributes), \(who), room, 0))"
                    + "(ctypes.create_string_buffer(48))",
            ]
        }
        func expect(_ result: String, of steps: [String], sourceLocation: SourceLocation = #_sourceLocation) throws
        {
            let tried = try tries(steps, in: PluginHome(), without: denied)
            #expect(
                tried == Array(repeating: result, count: steps.count), "\(tried)", sourceLocation: sourceLocation)
        }
        // Python is a child of the plugin, which is a shell.
        try expect("ok", of: steps("0") + steps("os.getppid()"))
        try expect("EPERM", of: steps("\(other)"))
        // Groups and users, their own too.
        try expect(
            "EPERM",
            of: [
                "os.setpriority(os.PRIO_PGRP, 0, 0)", "os.setpriority(os.PRIO_USER, 0, 0)",
                "call(\(setDisk), 2, 0, 0)", "call(\(setDisk), 3, 0, 0)",
            ])
    }

    #if arch(x86_64)
    @Test(.needs(.walls)) func `calls of another architecture end it`() throws {
        let home = try PluginHome()
        // getpid of x32, and of i386 by int 0x80
        try home.write(
            """
            import ctypes, mmap
            code = mmap.mmap(-1, 4096, prot=7)
            code.write(bytes.fromhex("b814000000cd80c3"))
            ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
            """, home.seen + "/i386.py")
        let said = try says(
            """
            /usr/bin/python3 -S -c 'import ctypes; ctypes.CDLL(None).syscall(0x40000027)'; echo $?
            /usr/bin/python3 -S '\(home.seen)/i386.py'; echo $?
            """, in: home)
        #expect(said.filter { $0 == "159" }.count == 2, "\(said)")
    }
    #endif

    @Test(.needs(.walls)) func `it reads no key of its user, as one did that took another account's token`()
        throws
    {
        let key = linux_add_user_key("credmgr-test-\(UUID().uuidString)", "token", 5, linux_user_keyring)
        try #require(key > 0)
        defer { _ = linux_unlink_key(key, linux_user_keyring) }
        #if arch(x86_64)
        let read = "call(250, 11, \(key), ctypes.create_string_buffer(9), 9)"
        #else
        let read = "call(219, 11, \(key), ctypes.create_string_buffer(9), 9)"
        #endif
        let home = try PluginHome()
        #expect(try tries([read], in: home) == ["EPERM"])
        #expect(try tries([read], in: home, trusting: ["canned"]) == ["ok"])
    }

    @Test(.needs(.walls), arguments: [[], [.namespace]] as [Set<ContainmentWay>])
    func `it gains no privileges and sends others no signals`(_ denied: Set<ContainmentWay>) throws {
        let said = try says(
            """
            kill -0 \(getpid()) 2> /dev/null || echo kept
            /usr/bin/python3 -S -c '
            import ctypes
            print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))'
            """, in: PluginHome(), without: denied)
        #expect(said == ["kept", "1"])
        // The check covers each call that sends it: signal 0 only asks whether another would be sent.
        let victim = getpid()
        // In a namespace of its own there are no others.
        let refused = denied.isEmpty ? "ESRCH" : "EPERM"
        #expect(
            try tries(
                [
                    "os.kill(\(victim), 0)", "os.killpg(\(getpgrp()), 0)",
                    "signal.pidfd_send_signal(os.pidfd_open(\(victim)), 0)", "os.kill(os.getpid(), 0)",
                ], in: PluginHome(), without: denied) == [refused, refused, refused, "ok"])
    }

    @Test(.needs(.walls)) func `it opens no memory, no variables and no descriptors of others`() throws {
        let home = try PluginHome(), other = "/proc/\(getpid())"
        let files = ["mem", "environ", "maps", "fd/0", "root/etc/passwd", "cwd"].map {
            "os.open('\(other)/\($0)', 0)"
        }
        let tried = try tries(files + ["os.listdir('\(other)/fd')", "os.open('/proc/self/mem', 0)"], in: home)
        #expect(tried == Array(repeating: "EACCES", count: 8), "\(tried)")
        // Not even if its manifest names the directory, as one for its own process's sake may.
        let needs = JSONObject(["read": ["/proc"]])
        let named = try tries(files + ["os.open('/proc/self/environ', 0)"], needs: needs, in: home)
        #expect(named == Array(repeating: "EACCES", count: files.count) + ["ok"], "\(named)")
        // In a user namespace of its own even a trusted one has no access to processes outside of it.
        let open = try tries(
            ["os.open('\(other)/environ', 0)"], in: home, trusting: ["canned"], without: [.namespace])
        #expect(open == ["ok"], "without walls it does: it is the walls that keep it away")
    }

    @Test(.needs(.walls)) func `it has no terminal to type on, and no device but the harmless ones`() throws {
        let home = try PluginHome()
        // The terminal of the caller, a new one, and the shared memory of other programs.
        let closed = ["/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm", "/dev/mem", "/dev/kmsg"]
        let open = ["/dev/null", "/dev/zero", "/dev/urandom"]
        let tried = try tries(
            closed.map { "os.open('\($0)', os.O_RDONLY)" } + open.map { "os.open('\($0)', os.O_RDONLY)" }
                + ["os.open('/dev/shm/credmgr-test', os.O_CREAT | os.O_WRONLY)"], in: home)
        #expect(tried.prefix(6).allSatisfy { ["EACCES", "ENOENT"].contains($0) }, "\(tried)")
        #expect(tried.first == "EACCES")
        #expect(tried.dropFirst(6) == ["ok", "ok", "ok", "EACCES"], "\(tried)")
        // It is in a session of its own, which has no terminal.
        let session = try tries(["print(os.getsid(0))"], in: home)
        #expect(session.first.flatMap { Int32($0) }.map { $0 != getsid(0) } == true, "\(session)")
    }

    @Test func `its temporary folder is its own, and goes with it`() throws {
        let home = try PluginHome()
        let said = try says(
            """
            echo "$TMPDIR"; stat -c %a "$TMPDIR"; deep="$TMPDIR/a"
            mkdir -p "$deep/b/c/d" "$TMPDIR/.moved-0" && echo x > "$deep/b/c/d/file" && ln -s / "$TMPDIR/root"
            [ -f "$deep/b/c/d/file" ] && echo there
            """, in: home)
        #expect(said.count == 3 && said[1] == "700" && said[2] == "there", "\(said)")
        #expect(!FileManager.default.fileExists(atPath: try #require(said.first)))
    }

    @Test func `it may use the paths in its manifest, except credmgr's files`() throws {
        let home = try PluginHome()
        try home.write("settings", home.base + "/notes")
        var needs = JSONObject(["read": [.string(home.base + "/notes")]])
        #expect(try says("cat '\(home.base)/notes'", needs: needs, in: home) == ["settings"])
        try FileManager.default.createSymbolicLink(
            atPath: home.base + "/link", withDestinationPath: home.base + "/credmgr")
        for path in ["/credmgr", "/credmgr/groups", "", "/link"] {
            needs["read"] = [.string(home.base + path)]
            if path == "/credmgr/groups" {
                try FileManager.default.createDirectory(
                    atPath: home.base + path, withIntermediateDirectories: true)
            }
            let error = #expect(throws: CredentialError.self, "\(path)") {
                try says("true", needs: needs, in: home)
            }
            // It is not its interpreter that is missing.
            let manifest = home.providers + "/canned/manifest.json"
            #expect(error?.hint == "remove this path from \"needs\" in \(manifest)", "\(path)")
            #expect(error?.message.contains("credmgr keeps its own files there") == true)
        }
        let certificates = home.base + "/credmgr/certificates.pem"
        try home.write("", certificates)
        var environment = standardEnvironment
        environment["SSL_CERT_FILE"] = certificates
        try home.install(CannedPlugin(begin: doneReply))
        let launcher = PluginLauncher(environment: environment, walls: home.walls(trusting: []), seconds: 20)
        let refused = #expect(throws: CredentialError.self) {
            _ = try PluginAdapter(
                try #require(try home.catalog().provider(named: "canned")), launcher: launcher
            ).begin(.canned(), in: World().context)
        }
        #expect(refused?.hint == "set SSL_CERT_FILE to certificates in another directory")
    }

    @Test func `without the program that confines it no plugin is run`() throws {
        let home = try PluginHome()
        try home.install(CannedPlugin(begin: doneReply))
        func catalog(_ supervisor: String?) -> PluginCatalog {
            PluginCatalog(
                places: [PluginSearchPath(base: home.base)], reserved: [], environment: standardEnvironment,
                walls: SandboxPolicy(supervisor: supervisor, keptOut: []))
        }
        #expect(
            code { () throws(CredentialError) in _ = try catalog(nil).adapter(named: "canned") } == .configuration)
        // Another program in its place greets in other words.
        for stranger in ["/bin/true", "/bin/sh", "/nonexistent"] {
            let adapter = try #require(try catalog(stranger).adapter(named: "canned"))
            #expect(
                code { () throws(CredentialError) in _ = try adapter.begin(.canned(), in: World().context) }
                    == .configuration)
        }
        #expect(!FileManager.default.fileExists(atPath: home.seen + "/describe.request"))
    }
}
