import Foundation
import Testing

/// A need of a test that not every machine that runs the tests meets. This is the one place that decides which
/// tests are left out there, and that no test is silently left out when a change is judged.
public struct Need: Sendable {
    /// The description of the need, for the reader of a skipped test.
    public let what: String
    /// Whether every run that judges a change has it: the packages of `scripts/install-packages test`, and the
    /// calls that the kernel allows root. The rest is in no Debian 12, or is large and asked for by name.
    public let isDemanded: Bool
    private let isThere: @Sendable () -> Bool

    /// Names a need, and how it is found out whether it is met here.
    public init(_ what: String, isDemanded: Bool = true, isThere: @autoclosure @escaping @Sendable () -> Bool) {
        self.what = what
        self.isDemanded = isDemanded
        self.isThere = isThere
    }

    /// Whether it is met.
    ///
    /// - Throws: ``Missing`` if it is not, and `CI` is set: there a test that is left out is a test that fails.
    public func isMet(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> Bool {
        if isThere() { return true }
        if isDemanded, let value = environment["CI"], !["", "0", "false"].contains(value.lowercased()) {
            throw Missing(description: "CI is set, and this needs \(what)")
        }
        return false
    }

    /// A missing need that has to be met.
    public struct Missing: Error, CustomStringConvertible {
        /// The part that is missing.
        public let description: String
    }
}

// MARK: What there is to need

extension Need {
    /// Root, who alone can act as another user and give files away.
    public static let root = Need("root, who can become somebody else", isThere: geteuid() == 0)

    /// Root, who can mount the image of a disk.
    public static let loopDevices = Need(
        "root, and loop devices", isDemanded: false,
        isThere: geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0)

    /// A private bus with gnome-keyring on it.
    public static let keyring = Need("dbus-daemon and gnome-keyring", isThere: PrivateKeyring.isInstalled)

    /// The same, and Python that speaks to the bus.
    public static let scriptedKeyring = Need(
        "gnome-keyring's bus and Python's D-Bus modules",
        isThere: PrivateKeyring.isInstalled && Machine.hasBusModules)

    /// KeePassXC, which brings a good deal of Qt along.
    public static let keePassXC = Need(
        "keepassxc: scripts/setup test-keyrings", isDemanded: false, isThere: PrivateKeyring.isKeePassXCInstalled)

    /// KWallet, as ``keePassXC``.
    public static let kWallet = Need(
        "kwalletd5 and libqca-qt5-2-plugins: scripts/setup test-keyrings", isDemanded: false,
        isThere: PrivateKeyring.isKWalletInstalled)

    /// A kernel that keeps keys, asked without the code under test; containers often forbid it.
    public static let kernelKeys = Need("a kernel that keeps keys (keyctl)", isThere: Machine.hasKernelKeys)

    /// Every wall that a plugin is put behind.
    public static let walls = Need(
        "a kernel with all the walls of plugins: Landlock, seccomp, keyrings, PID namespaces",
        isThere: Machine.hasWalls)

    /// strace, and a machine on which a process may trace another.
    public static let tracing = Need("strace that may trace", isThere: Machine.mayTrace)

    /// Namespaces of a user's own, by bubblewrap and unshare, with keys and mounts in them.
    public static let namespaces = Need(
        "namespaces of users, with keys and mounts in them (bwrap, unshare)", isThere: Machine.hasNamespaces)

    /// Chromium, driven by a program.
    public static let chromium = Need("chromium and chromium-driver", isThere: Machine.has("chromedriver"))

    /// Firefox, which is driven without a driver.
    public static let firefox = Need("firefox-esr", isThere: Machine.has("firefox-esr"))

    /// Root, and podman that may run containers here.
    public static let podman = Need("root, and podman that runs", isThere: Machine.hasPodman)

    /// A program below `/usr/bin`.
    public static func program(_ name: String) -> Need { Need(name, isThere: Machine.has(name)) }
}

/// The facts that were found out about this machine, each once.
private enum Machine {
    private static func runs(_ program: String, _ arguments: String...) -> Bool {
        let child = ChildProcess(program, arguments, environment: ["PATH": "/usr/bin:/bin"])
        return (try? child.run())?.exitStatus == 0
    }

    static func has(_ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + program)
    }

    static let hasBusModules = runs("python3", "-c", "import dbus, gi")

    /// As `scripts/packaging/podman` calls it.
    static let hasPodman =
        geteuid() == 0 && has("podman") && runs("unshare", "--mount", "true") && runs("podman", "info")

    static let mayTrace = runs("strace", "-o", "/dev/null", "/bin/true")

    static let hasKernelKeys: Bool = {
        let probe = "credmgr-probe-\(UUID().uuidString)"
        let isAdded = runs("keyctl", "add", "user", probe, "x", "@u")
        _ = runs("keyctl", "purge", "-s", "user", probe)
        return isAdded
    }()

    /// The supervisor names the missing parts after its greeting.
    static let hasWalls =
        (try? ChildProcess(BuiltProgram.path, ["__confine", "--lacks"]).run())?.standardOutput == "confine 2\n"

    static let hasNamespaces =
        runs("unshare", "-Ur", "sh", "-c", "keyctl add user probe x @u && bwrap --unshare-all --ro-bind / / true")
        && runs("bwrap", "--bind", "/", "/", "true")
        && runs("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt")
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out if its needs are not met; if `CI` is set it fails there.
    public static func needs(_ need: Need, sourceLocation: SourceLocation = #_sourceLocation) -> Self {
        .enabled(Comment(rawValue: need.what), sourceLocation: sourceLocation) { try need.isMet() }
    }
}
