import Foundation
import StrictJSON
import TestSupport
import Testing

/// When plugins end: with the command that runs them, with the worker that does, and with all that they started.
@Suite struct PluginEndTests {
    /// A plugin that signs in, and hangs when it is to refresh, or at `begin` where it is told to. What it starts in a
    /// session of its own is left alone by the signals of the terminal.
    private static func plugin(hangsAt operation: String) -> String {
        """
        case $request in
        *'"operation":"\(operation)"'*)
            echo $PPID > "$SEEN/supervisor"
            /usr/bin/setsid /bin/sh -c 'trap "" INT HUP TERM; echo $$ > "$0/stray"; sleep 600' "$SEEN" \\
                > /dev/null 2>&1 < /dev/null &
            echo $$ > "$SEEN/plugin.new"; /bin/mv "$SEEN/plugin.new" "$SEEN/plugin"
            trap '' INT HUP TERM
            sleep 600 ;;
        esac
        echo '{"version":1,"reply":"done","identity":{"subject":"ada"},"tokens":{"access_token":"t","expires_in":600,"refresh_token":"r"}}'
        """
    }

    private func home(hangingAt operation: String) throws -> Home {
        let home = try Home(["CREDMGR_STORE": "file"])
        try home.install(
            plugin: "SEEN='\(home.path)/seen'\n" + Self.plugin(hangsAt: operation))
        return home
    }

    /// The process that wrote its number down, as soon as it has.
    private func process(_ name: String, in home: Home) throws -> pid_t {
        for _ in 0..<3_000 {
            if let text = home.text(of: "seen/" + name), let number = Int32(text.trimmingCharacters(in: .newlines))
            {
                return number
            }
            usleep(10_000)
        }
        throw Absent(name: name)
    }

    private struct Absent: Error { let name: String }

    /// Whether a process ends, be it after a moment.
    private func ends(_ process: pid_t) -> Bool {
        for _ in 0..<1_500 {
            if kill(process, 0) != 0 { return true }
            usleep(10_000)
        }
        return false
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
    func `A plugin ends with the command that runs it, and with its worker`(_ signal: Int32) throws {
        let home = try home(hangingAt: "begin")
        let command = try home.start(["login", "--type", "Canned"])
        let plugin = try process("plugin", in: home), stray = try process("stray", in: home)
        command.send(signal)
        #expect(try command.signal() == signal)
        #expect(ends(plugin) && ends(stray))
        let supervisor = try process("supervisor", in: home)
        #expect(ends(supervisor))
    }

    @Test func `A refresh goes on when its command is interrupted, and its plugin ends with the worker`() throws {
        let home = try home(hangingAt: "refresh")
        try home.run(["login", "--type", "Canned"])
        let command = try home.start(["token", "--force-refresh"])
        let plugin = try process("plugin", in: home), stray = try process("stray", in: home)
        let supervisor = try process("supervisor", in: home)
        let fields = try #require(
            try String(contentsOfFile: "/proc/\(supervisor)/stat", encoding: .utf8).split(separator: ")").last
        ).split(separator: " ")
        let worker = try #require(pid_t(fields[1]))
        #expect(worker != command.id)
        command.send(SIGINT)
        #expect(try command.signal() == SIGINT)
        #expect(kill(plugin, 0) == 0 && kill(worker, 0) == 0)
        kill(worker, SIGKILL)
        #expect(ends(plugin) && ends(stray) && ends(supervisor))
    }

    @Test func `A plugin that is trusted is named by providers and doctor`() throws {
        let home = try home(hangingAt: "never")
        let confined = try home.json(["providers", "--json"]).array?.last?.object
        #expect(confined?["confined"] == true)
        #expect(confined?["needs"]?.object?["write"] == .array([.string("\(home.path)/seen")]))
        try home.write(#"{"unconfined_plugins": ["canned"]}"#, to: "config/credmgr/config.json")
        #expect(try home.json(["providers", "--json"]).array?.last?.object?["confined"] == false)
        #expect(try home.run(["providers"]).standardError.contains("canned runs without walls"))
        let report = try ChildProcess(Home.program, ["doctor"], environment: home.environment).run().standardOutput
        #expect(report.contains("canned: version 1 in") && report.contains("runs without walls"))
    }
}
