import Broker
import CredentialCore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LocalMachine

/// Prompts on the desktop, with a real bus and a service in Python.
@Suite(.serialized, .needs(.scriptedKeyring)) struct DesktopPromptTests {
    private static let service = #"""
        import os, sys, threading
        import dbus, dbus.service
        from dbus.mainloop.glib import DBusGMainLoop
        from gi.repository import GLib
        DBusGMainLoop(set_as_default=True)
        mode, log = sys.argv[1], sys.argv[2]
        bus = dbus.SessionBus()
        NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
        class Service(dbus.service.Object):
            @dbus.service.method(NAME, out_signature="as")
            def GetCapabilities(self):
                return ["body"] if mode == "plain" else ["body", "body-markup", "actions"]
            @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
            def Notify(self, app, replaces, icon, title, body, actions, hints, timeout):
                with open(log, "a") as file:
                    file.write("%s|%s|%s|%d|%d\n" % (title, body.replace("\n", "\\n"), " ".join(actions[::2]),
                                                    int(hints["urgency"]), timeout))
                GLib.timeout_add(100, self.answer)
                return dbus.UInt32(7)
            @dbus.service.method(NAME, in_signature="u")
            def CloseNotification(self, number):
                with open(log, "a") as file:
                    file.write("closed %d\n" % number)
            @dbus.service.signal(NAME, signature="us")
            def ActionInvoked(self, number, action): pass
            @dbus.service.signal(NAME, signature="uu")
            def NotificationClosed(self, number, reason): pass
            def answer(self):
                if mode == "dismissed":
                    self.NotificationClosed(dbus.UInt32(7), dbus.UInt32(2))
                elif mode == "foreign":
                    self.ActionInvoked(dbus.UInt32(8), "once")
                    self.NotificationClosed(dbus.UInt32(9), dbus.UInt32(2))
                    self.ActionInvoked(dbus.UInt32(7), "default")
                    self.ActionInvoked(dbus.UInt32(7), "no")
                elif mode == "forged":
                    forge()
                elif mode == "gone":
                    os._exit(0)
                elif mode != "silent":
                    self.ActionInvoked(dbus.UInt32(7), mode)
                return False
        def forge():
            # Another connection sends the signal to all, and to each client by its name.
            other = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
            names = [None] + [n for n in other.list_names() if n.startswith(":")]
            for name in names:
                message = dbus.lowlevel.SignalMessage(PATH, NAME, "ActionInvoked")
                message.append(dbus.UInt32(7), "once", signature="us")
                if name: message.set_destination(name)
                other.send_message(message)
            other.flush()
            GLib.timeout_add(300, lambda: service.ActionInvoked(dbus.UInt32(7), "no"))
        import dbus.lowlevel
        name = dbus.service.BusName(NAME, bus)
        service = Service(bus, PATH)
        print("ready", flush=True)
        GLib.MainLoop().run()
        """#

    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    private let text = ConsentText(
        ConsentQuestion(
            caller: Caller(uid: 1, pid: 2, executable: "/bin/<b>", key: CallerKey(kind: .exe, value: "1:2")),
            entry: "e", account: "ada@example.com", type: "Work", scope: ["a&b"], broker: "agents")
    ) { $0.description }

    /// Runs a bus and, if `mode` names its behaviour, a notification service.
    private func withBus<Result>(_ mode: String?, _ body: (String) throws -> Result) throws -> Result {
        let bus = try ChildProcess(
            "dbus-daemon",
            ["--session", "--nofork", "--print-address=1", "--address=unix:path=\(temporary.path)/bus"]
        ).start()
        defer { bus.kill() }
        let address = try #require(try bus.line())
        guard let mode else { return try body(address) }
        let script = temporary.path + "/service.py"
        try Self.service.write(toFile: script, atomically: true, encoding: .utf8)
        let service = try ChildProcess(
            "python3", [script, mode, temporary.path + "/log"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin"]
        ).start()
        defer { service.kill() }
        #expect(try service.line() == "ready")
        return try body(address)
    }

    private func choice(_ mode: String?, milliseconds: Int32 = 20_000) throws -> ConsentChoice? {
        try withBus(mode) { DesktopPrompt(address: $0).ask(text, milliseconds: milliseconds) }
    }

    private var log: String { (try? String(contentsOfFile: temporary.path + "/log", encoding: .utf8)) ?? "" }

    @Test(arguments: [ConsentChoice.once, .remember, .no, .close])
    func `DesktopPrompt returns the action that the user chose`(expected: ConsentChoice) throws {
        #expect(try choice(expected.rawValue) == expected)
        let first = log.split(separator: "\n").first.map(String.init) ?? ""
        #expect(
            first == """
                credmgr: /bin/<b> requests a token|Caller: /bin/&lt;b&gt; (pid 2), exe:1:2\\nAccount: ada@example.com\\n\
                Type: Work\\nScopes: a&amp;b\\nBroker: agents|once remember no close|2|0
                """)
    }

    @Test
    func `DesktopPrompt refuses when the notification is closed`() throws {
        #expect(try choice("dismissed") == .no)
    }

    @Test
    func `DesktopPrompt ignores another identifier and an unknown action`() throws {
        #expect(try choice("foreign") == .no)
    }

    @Test
    func `DesktopPrompt ignores a signal that the owner of the name did not send`() throws {
        #expect(try choice("forged") == .no)
    }

    @Test
    func `DesktopPrompt refuses when the service ends`() throws { #expect(try choice("gone") == .no) }

    @Test
    func `DesktopPrompt closes the notification at the time limit`() throws {
        #expect(try choice("silent", milliseconds: 1_500) == .timeout)
    }

    @Test
    func `DesktopPrompt is not here without a service, without actions or without a bus`() throws {
        #expect(try choice("plain") == nil)
        #expect(try choice(nil) == nil)
        #expect(DesktopPrompt(address: nil).ask(text, milliseconds: 1_000) == nil)
        #expect(DesktopPrompt(address: "unix:path=/nowhere/bus").ask(text, milliseconds: 1_000) == nil)
    }
}

@Suite struct PinentryPromptTests {
    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    private let text = ConsentText(
        ConsentQuestion(
            caller: Caller(uid: 1, pid: 2, key: CallerKey(kind: .uid, value: "1")), entry: "e", account: "100%",
            type: "Work", broker: "b")
    ) { $0.description }

    private func ask(_ reply: String, milliseconds: Int32 = 10_000) throws -> ConsentChoice? {
        let path = temporary.path + "/pinentry"
        let script = """
            #!/bin/sh
            echo "OK Pleased to meet you"
            while read -r line; do
                echo "$line" >>'\(temporary.path)/log'
                case $line in
                CONFIRM) \(reply) ;;
                BYE) echo "OK closing connection"; exit 0 ;;
                *) echo OK ;;
                esac
            done
            """
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(chmod(path, 0o700) == 0)
        return PinentryPrompt(environment: ["PATH": "\(temporary.path):/usr/bin:/bin"])
            .ask(text, milliseconds: milliseconds)
    }

    @Test func `PinentryPrompt reads the reply to CONFIRM`() throws {
        #expect(try ask("echo OK") == .once)
        #expect(try ask("echo 'ERR 83886179 Operation cancelled <Pinentry>'") == .no)
        #expect(try ask("echo 'ERR 83886194 Not confirmed <Pinentry>'") == .no)
        #expect(try ask("echo 'ERR 83886142 Timeout <Pinentry>'") == .timeout)
        #expect(try ask("echo 'ERR 83918950 Inappropriate ioctl for device <Pinentry>'") == nil)
        #expect(try ask("exit 1") == nil)
        let log = try String(contentsOfFile: temporary.path + "/log", encoding: .utf8)
        #expect(
            log.contains("SETDESC Caller: uid:1 (pid 2), uid:1%0AAccount: 100%25")
        )
    }

    @Test func `PinentryPrompt warns and does not ask when the text is too long for a line`() throws {
        #expect(try ask("echo OK") == .once)
        let scope = (0..<20).map { "scope\($0)-" + String(repeating: "%", count: 20) }
        let long = ConsentText(
            ConsentQuestion(
                caller: Caller(uid: 1, pid: 2, key: CallerKey(kind: .uid, value: "1")), entry: "e", account: "a",
                type: "Work", scope: scope, broker: "b")
        ) { $0.description }
        let warnings = Mutex<[String]>([])
        let prompt = PinentryPrompt(environment: ["PATH": "\(temporary.path):/usr/bin:/bin"]) { warning in
            warnings.withLock { $0.append(warning.message) }
        }
        #expect(prompt.ask(long, milliseconds: 10_000) == nil)
        #expect(warnings.withLock { $0.count == 1 && $0[0].contains("longer than 1,000 bytes") })
    }

    @Test func `PinentryPrompt is not here without the program`() {
        #expect(PinentryPrompt(environment: ["PATH": "/nowhere"]).ask(text, milliseconds: 1_000) == nil)
    }
}
