import Foundation

/// A session bus with its own keyring, in directories of its own: it leaves the machine's session alone, and any
/// number of them can run side by side.
///
/// The bus starts no services by itself. Everything ends with ``stop()``, at the latest with the last reference;
/// call it if a process may end right after its test, as in exit tests.
public final class PrivateKeyring: @unchecked Sendable {
    /// The provider of the Secret Service.
    public enum Provider: Sendable {
        /// gnome-keyring with an open default collection.
        case gnomeKeyring
        /// gnome-keyring of a user who never had a keyring.
        case gnomeKeyringWithoutCollection
        /// KeePassXC with an open database. It has no screen: a window that it opens stays unanswered.
        case keePassXC
        /// KWallet, its wallet opened as by a login.
        case kWallet
        /// Nobody.
        case nobody
        /// A program that says `ready` on its standard output when it provides the service.
        case program(String, [String])
    }

    /// The variables that a program needs to use this bus and keyring, and a `PATH`; no other variable of the
    /// caller.
    public let environment: [String: String]
    /// The bus's address.
    public var busAddress: String { environment["DBUS_SESSION_BUS_ADDRESS"] ?? "" }
    private let folder: TemporaryFolder
    private let provider: Provider
    private var bus: RunningProcess?
    private var keyring: RunningProcess?

    /// Whether the programs that it needs are installed.
    public static var isInstalled: Bool {
        areInstalled(["dbus-daemon", "dbus-send", "gnome-keyring-daemon"])
    }

    /// Whether KeePassXC is installed, too.
    public static var isKeePassXCInstalled: Bool {
        isInstalled && areInstalled(["keepassxc", "keepassxc-cli", "secret-tool"])
    }

    /// Whether KWallet and the programs that its test needs are there.
    public static var isKWalletInstalled: Bool {
        // Without this plugin of Qt's it cannot agree on a key.
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        let hasCryptography = folders.contains {
            FileManager.default.fileExists(atPath: "/usr/lib/\($0)/qca-qt5/crypto/libqca-ossl.so")
        }
        return isInstalled && areInstalled(["kwalletd5", "python3"]) && hasCryptography
    }

    private static func areInstalled(_ programs: [String]) -> Bool {
        programs.allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) }
    }

    /// Starts a bus and, unless it is to have no service, the service; returns when it answers.
    public init(_ provider: Provider = .gnomeKeyring) throws {
        self.provider = provider
        folder = try TemporaryFolder()
        var environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "GSETTINGS_BACKEND": "memory"]
        environment["QT_QPA_PLATFORM"] = "offscreen"
        for (variable, name) in [
            ("HOME", "home"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache"),
            ("XDG_RUNTIME_DIR", "run"), ("TMPDIR", "tmp"),
        ] {
            let path = folder.path + "/" + name
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            environment[variable] = path
        }
        let socket = folder.path + "/run/bus"
        environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=" + socket
        self.environment = environment
        let configuration = folder.path + "/bus.conf"
        // No <servicedir>: the bus would start a second keyring, which sometimes wins.
        try """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig><type>session</type><listen>unix:path=\(socket)</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
        <allow own="*"/></policy></busconfig>
        """.write(toFile: configuration, atomically: true, encoding: .utf8)
        try startBus()
        try startService()
    }

    private func startBus() throws {
        let bus = try start(
            "/usr/bin/dbus-daemon", ["--config-file=\(folder.path)/bus.conf", "--nofork", "--print-address=1"])
        self.bus = bus
        guard try bus.line() != nil else { throw Failure("the bus did not start") }
    }

    deinit { stop() }

    /// Ends the service and the bus.
    public func stop() {
        stopService()
        stopBus()
    }

    /// The process that provides the service.
    public var serviceProcess: pid_t { keyring?.id ?? 0 }

    /// Starts the service, with the default collection open, and returns when it answers.
    public func startService() throws {
        switch provider {
        case .nobody: return
        case .gnomeKeyring:
            try startKeyring(["--unlock"], password: Self.password)
            try waitForCollection(locked: false)
        case .keePassXC:
            let database = try KeePassXCDatabase(folder: folder.path, environment: environment)
            keyring = try start("/usr/bin/keepassxc", database.arguments, input: .pipe)
            try keyring?.write(KeePassXCDatabase.password + "\n")
            // The alias is there before the database is open.
            try waitForCollection(locked: false)
        case .gnomeKeyringWithoutCollection:
            try startKeyring([], password: nil)
            try wait(for: "boolean true", from: { owned })
        case .kWallet:
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../Fixtures/kwallet.py").path
            try startProgram("/usr/bin/python3", [script])
        case .program(let program, let arguments): try startProgram(program, arguments)
        }
    }

    private func startProgram(_ program: String, _ arguments: [String]) throws {
        let process = try start(program, arguments)
        keyring = process
        guard try process.line() == "ready" else { throw Failure("\(program) is not ready") }
    }

    /// Ends the service; its files stay.
    public func stopService() {
        keyring?.kill()
        keyring = nil
    }

    /// Ends the service and starts it again.
    public func restartService() throws {
        stopService()
        try wait(for: "boolean false", from: { owned })
        try startService()
    }

    /// Ends the bus.
    public func stopBus() {
        bus?.kill()
        bus = nil
    }

    /// Ends the service and the bus and starts them again, at the same address.
    public func restartBus() throws {
        stop()
        try FileManager.default.removeItem(atPath: folder.path + "/run/bus")
        try startBus()
        try startService()
    }

    /// Keeps the service from answering until ``resumeService()``.
    public func pauseService() { kill(serviceProcess, SIGSTOP) }

    /// Lets a paused service go on.
    public func resumeService() { kill(serviceProcess, SIGCONT) }

    /// Locks the default collection.
    public func lock() throws {
        if case .keePassXC = provider {
            // It locks only after a question to the connection that asked for it. How the tool ends does not
            // matter: libsecret 0.20.5 crashes after the lock.
            _ = try ChildProcess("secret-tool", ["lock"], environment: environment).run(seconds: 20)
            return try waitForCollection(locked: true)
        }
        try send([
            "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock",
            "array:objpath:" + (try defaultCollection()),
        ])
        try waitForCollection(locked: true)
    }

    /// Opens the default collection again; the service is another process then.
    public func unlock() throws { try restartService() }

    private static let password = "private-keyring"

    private var owned: [String] {
        [
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner",
            "string:org.freedesktop.secrets",
        ]
    }

    private func defaultCollection() throws -> String {
        let reply = try send([
            "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.ReadAlias",
            "string:default",
        ])
        let path = reply.trimmingCharacters(in: .whitespacesAndNewlines)
        return path.hasPrefix("/") ? path : "/"
    }

    private func waitForCollection(locked: Bool) throws {
        try wait(for: "boolean \(locked)") {
            [
                "org.freedesktop.secrets", try defaultCollection(), "org.freedesktop.DBus.Properties.Get",
                "string:org.freedesktop.Secret.Collection", "string:Locked",
            ]
        }
    }

    private func startKeyring(_ arguments: [String], password: String?) throws {
        let keyring = try start(
            "/usr/bin/gnome-keyring-daemon", ["--foreground", "--components=secrets"] + arguments, input: .pipe)
        self.keyring = keyring
        // The password is all of standard input: a newline would be part of it.
        if let password { try keyring.write(password) }
        keyring.closeInput()
    }

    private func start(
        _ program: String, _ arguments: [String], input: RunningProcess.Input = .none
    ) throws -> RunningProcess {
        try ChildProcess(program, arguments, environment: environment).start(input: input)
    }

    /// Asks until the answer has `text` in it; each question takes a few milliseconds, which is wait enough.
    private func wait(for text: String, from question: () throws -> [String]) throws {
        let limit = ContinuousClock.now.advanced(by: .seconds(20))
        while ContinuousClock.now < limit {
            if let keyring, !keyring.isRunning { throw Failure("the keyring ended") }
            if try send(question()).contains(text) { return }
        }
        throw Failure("the keyring did not come to '\(text)'")
    }

    @discardableResult private func send(_ question: [String]) throws -> String {
        let options = ["--session", "--print-reply=literal", "--dest=" + (question.first ?? "")]
        return try ChildProcess("dbus-send", options + question.dropFirst(), environment: environment)
            .run(seconds: 10).standardOutput
    }

    /// The failure while starting.
    public struct Failure: Error, CustomStringConvertible {
        /// The sentence.
        public let description: String
        init(_ description: String) { self.description = description }
    }
}
