import Foundation
import TestSupport
import Testing

/// The secrets that others of the same user can reach: a sandbox without our files, a container that shares the
/// runtime folder, another user. Each home runs with a keyring of its own, that of a new user namespace.
@Suite(.needs(.namespaces))
struct SandboxTests {
    /// A sandbox that sees no file of the user's, and no environment.
    private static let sandbox = """
        bwrap --unshare-all --clearenv --setenv PATH /usr/bin:/bin --ro-bind /usr /usr --symlink usr/bin /bin \
        --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp
        """

    /// Runs a script with a keyring of its own, in a session that possesses it, as a login makes one. `$CREDMGR` is
    /// the program.
    private func run(_ script: String, at home: Home, _ variables: [String: String] = [:]) throws
        -> ChildProcess.Outcome
    {
        var environment = home.environment.merging(variables) { $1 }
        environment["CREDMGR"] = Home.program
        environment["SANDBOX"] = Self.sandbox
        environment["SCRIPT"] = "set -e; keyctl link @u @s; " + script
        return try ChildProcess(
            "unshare", ["-Ur", "keyctl", "session", "-", "/bin/sh", "-c", "eval \"$SCRIPT\""],
            environment: environment
        ).run()
    }

    /// Signs Alice in, and gives the output of `token`.
    private func signedIn(_ tenant: DemoTenant) throws -> (home: Home, token: String) {
        let home = try Home(["CREDMGR_CACHE": "on", "CREDMGR_STORE": "file"])
        try tenant.signIn(at: home)
        return (home, try home.run(["token", "--type", DemoTenant.typeName]).line)
    }

    private static let token = "\"$CREDMGR\" token --type \(DemoTenant.typeName)"

    @Test func `A sandbox that reaches the keyring reads no token and no data key there`() throws {
        let tenant = try DemoTenant(), (home, token) = try signedIn(tenant)
        let passphrase = try home.write("correct horse battery", to: "passphrase")
        try home.run(["store", "rekey", "--passphrase-file", passphrase])
        // All keys that the sandbox possesses, as hexadecimal numbers.
        let outcome = try run(
            """
            \(Self.token) >/dev/null
            unset CREDMGR_PASSPHRASE_FILE
            \(Self.token) >/dev/null
            test -n "$(find "$XDG_RUNTIME_DIR/credmgr" -path '*/keys/*')"
            echo "keys: $(keyctl rlist @u | wc -w)"
            for key in $(keyctl rlist @u); do
                $SANDBOX keyctl read $key
                $SANDBOX keyctl pipe $key | cat -v
            done
            """, at: home, ["CREDMGR_PASSPHRASE_FILE": passphrase])
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        // One key: the half that alone opens no file.
        #expect(outcome.standardOutput.contains("keys: 1\n"), "\(outcome.standardOutput)")
        #expect(outcome.standardOutput.contains("32 bytes of data in key"))
        #expect(!outcome.standardOutput.contains(token.prefix(20)))
        #expect(Canary.secret(in: outcome.standardOutput.utf8) == nil)
    }

    @Test func `A sandbox that was not given the keyring cannot read the half by its number`() throws {
        let tenant = try DemoTenant(), (home, _) = try signedIn(tenant)
        let outcome = try run(
            """
            \(Self.token) >/dev/null
            key=$(keyctl search @u user credmgr:cache)
            keyctl describe $key
            keyctl session - $SANDBOX keyctl read $key && exit 9
            true
            """, at: home)
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(outcome.standardOutput.contains(": alswrv------------------"), "\(outcome.standardOutput)")
        #expect(outcome.standardError.contains("Permission denied"))
    }

    @Test func `A sandbox that changes, removes or adds keys has no other token printed`() throws {
        let tenant = try DemoTenant(), (home, token) = try signedIn(tenant)
        let outcome = try run(
            """
            \(Self.token)
            key=$(keyctl search @u user credmgr:cache)
            for act in "keyctl update $key 0123456789abcdef0123456789abcdef" "keyctl update $key short" \
                "keyctl revoke $key" "keyctl unlink $key $(keyctl id @u)" "keyctl clear $(keyctl id @u)"; do
                $SANDBOX $act >&2 || true
                \(Self.token)
                \(Self.token)
            done
            """, at: home)
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(outcome.standardOutput.split(separator: "\n").allSatisfy { $0 == token })
        #expect(outcome.standardOutput.split(separator: "\n").count == 11)
    }

    @Test func `A container that shares the folder and not the keyring has a key of its own`() throws {
        let tenant = try DemoTenant(), (home, token) = try signedIn(tenant)
        for _ in 0..<2 {
            let outcome = try run("\(Self.token); \(Self.token)", at: home)
            #expect(outcome.standardOutput == "\(token)\n\(token)\n", "\(outcome.standardError)")
        }
        #expect(try home.run(["token", "--type", DemoTenant.typeName]).line == token)
    }

    @Test(.needs(.root))
    func `Another user gets neither the folder nor the key`() throws {
        let tenant = try DemoTenant(), (home, token) = try signedIn(tenant)
        let search = try ChildProcess("keyctl", ["search", "@u", "user", "credmgr:cache"]).run()
        let key = search.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        let outcome = try ChildProcess(
            "setpriv",
            [
                "--reuid=54323", "--regid=54323", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "sh",
                "-c",
                """
                ls "$XDG_RUNTIME_DIR/credmgr"; cat "$XDG_RUNTIME_DIR"/credmgr/*/*/*
                keyctl read \(key); keyctl describe \(key); keyctl link \(key) @s; keyctl read \(key)
                """,
            ], environment: home.environment
        ).run()
        #expect(outcome.standardOutput.isEmpty)
        #expect(!outcome.standardError.contains(token.prefix(20)))
    }

    @Test func `Without a runtime folder of one's own every call is answered all the same`() throws {
        let tenant = try DemoTenant(), (home, token) = try signedIn(tenant)
        for folder in ["", "relative", "/nowhere", "/proc", "/", home.path + "/etc"] {
            let outcome = try home.run(
                ["token", "--type", DemoTenant.typeName], environment: ["XDG_RUNTIME_DIR": folder])
            #expect(outcome.line == token && outcome.standardError.isEmpty)
        }
        // No folder at all: neither in /run nor in shared memory.
        let outcome = try ChildProcess(
            "unshare",
            [
                "-Urm", "sh", "-c",
                """
                mount -t tmpfs -o ro none /dev/shm && mount -t tmpfs -o ro none /run &&
                "$0" token --type \(DemoTenant.typeName) && "$0" doctor
                """, Home.program,
            ], environment: home.environment.merging(["XDG_RUNTIME_DIR": "/nowhere"]) { $1 }
        ).run()
        #expect(outcome.standardOutput.hasPrefix(token + "\n"), "\(outcome.standardError)")
        #expect(
            outcome.standardOutput.contains("note     cache: tokens are not cached"), "\(outcome.standardOutput)")
        #expect(outcome.standardOutput.contains("no runtime directory"))
    }

    @Test(.needs(.root))
    func `Nothing is put into the runtime folder of another user`() throws {
        let tenant = try DemoTenant(), (home, token) = try signedIn(tenant)
        let foreign = home.path + "/foreign"
        try FileManager.default.createDirectory(
            atPath: foreign, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700, .ownerAccountID: 54_323])
        let outcome = try home.run(
            ["exec", "--type", DemoTenant.typeName, "--", "sh", "-c", "cat \"$CREDMGR_TOKEN_FILE\""],
            environment: ["XDG_RUNTIME_DIR": foreign])
        #expect(outcome.standardOutput.trimmingCharacters(in: .newlines) == token)
        #expect(try FileManager.default.contentsOfDirectory(atPath: foreign).isEmpty)
    }

    @Test func `A full runtime folder is a miss and no error, and doctor says so`() throws {
        let tenant = try DemoTenant(), (home, token) = try signedIn(tenant)
        for size in ["4k", "16k", "32k"] {
            let outcome = try ChildProcess(
                "unshare",
                [
                    "-Urm", "sh", "-c",
                    """
                    mount -t tmpfs -o size=\(size),mode=700 none "$XDG_RUNTIME_DIR" &&
                    dd if=/dev/zero of="$XDG_RUNTIME_DIR/full" bs=1k 2>/dev/null
                    for i in 1 2 3; do "$0" token --type \(DemoTenant.typeName) || exit; done; "$0" doctor
                    """, Home.program,
                ], environment: home.environment
            ).run()
            let lines = outcome.standardOutput.split(separator: "\n")
            #expect(lines.prefix(3).allSatisfy { $0 == token }, "\(outcome.standardError)")
            #expect(
                outcome.standardOutput.contains("note     cache: tokens are not cached"),
                "\(outcome.standardOutput)")
            #expect(!outcome.standardError.contains("warning"))
        }
    }

    @Test(.needs(.root))
    func `A used up quota of keys is a miss, and doctor says so`() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o755)
        let outcome = try ChildProcess(
            "/bin/sh",
            [
                "-c",
                """
                cp "$PROGRAM" "$FOLDER/credmgr" && mkdir -m 700 "$FOLDER/home" "$FOLDER/run" &&
                chown 54324:54324 "$FOLDER/home" "$FOLDER/run" && exec setpriv --reuid=54324 --regid=54324 \
                    --clear-groups --inh-caps=-all --bounding-set=-all keyctl session - sh -c '
                        i=0; while keyctl add user "k$i" x @s >/dev/null 2>&1; do i=$((i + 1)); done
                        "$FOLDER/credmgr" doctor'
                """,
            ],
            environment: [
                "PATH": "/usr/bin:/bin", "FOLDER": folder.path, "PROGRAM": Home.program,
                "HOME": folder.path + "/home", "XDG_RUNTIME_DIR": folder.path + "/run",
            ]
        ).run()
        #expect(outcome.standardOutput.contains("the kernel's key quota is exceeded"), "\(outcome)")
    }
}
