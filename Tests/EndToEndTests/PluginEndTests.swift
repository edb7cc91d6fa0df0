import Foundation
import StrictJSON
import TestSupport
import Testing

/// When plugins end: with the command that runs them, with the worker that does, and with all that they started.
@Suite struct PluginEndTests {
    /// A plugin that signs in, and hangs at a refresh, or at `begin` if the test asks for that. The signals of the
    /// terminal do not reach a process that it starts in a session of its own.
    private static func plugin(hangsAt operation: String) -> String {
        """
        case $request in
        *'"operation":"\(operation)"'*)
            trap '' INT HUP TERM
            /usr/bin/setsid /bin/sh -c 'trap "" INT HUP TERM; sleep 611' > /dev/null 2>&1 < /dev/null &
            sleep 622 ;;
        esac
        echo '{"version":1,"reply":"done","identity":{"subject":"ada"},"tokens":{"access_token":"t","expires_in":600,"refresh_token":"r"}}'
        """
    }

    private func home(hangingAt operation: String) throws -> Home {
        let home = try Home(["CREDMGR_STORE": "file", MarkedProcesses.variable: UUID().uuidString])
        try home.install(plugin: Self.plugin(hangsAt: operation))
        return home
    }

    /// The processes of a home once the plugin hangs: the command, its supervisor, the plugin and the plugin's
    /// children.
    private func processes(in home: Home) throws -> MarkedProcesses {
        let processes = MarkedProcesses(try #require(home.environment[MarkedProcesses.variable]))
        for last in ["sleep 611", "sleep 622"] { _ = try processes.first(with: last) }
        return processes
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
    func `A plugin ends with the command that runs it, and with its worker`(_ signal: Int32) throws {
        let home = try home(hangingAt: "begin")
        let command = try home.start(["login", "--type", "Canned"])
        let processes = try processes(in: home)
        command.send(signal)
        #expect(try command.signal() == signal)
        try processes.end(within: 15)
    }

    @Test func `A refresh goes on when its command is interrupted, and its plugin ends with the worker`() throws {
        let home = try home(hangingAt: "refresh")
        try home.run(["login", "--type", "Canned"])
        let command = try home.start(["token", "--force-refresh"])
        let processes = try processes(in: home)
        let supervisor = try processes.first(with: "__confine")
        let plugin = try processes.first(with: "sleep 622")
        // The init of a namespace has the arguments of the supervisor.
        let parents = processes.all.filter { $0.arguments.contains("__confine") }.compactMap(\.parent)
        let worker = try #require(parents.first { parent in !processes.isConfining(parent) })
        #expect(worker != command.id)
        command.send(SIGINT)
        #expect(try command.signal() == SIGINT)
        for process in [supervisor.id, plugin.id, worker] { #expect(kill(process, 0) == 0) }
        kill(worker, SIGKILL)
        try processes.end(within: 15)
    }

    @Test func `A plugin that is trusted is named by providers and doctor`() throws {
        let home = try home(hangingAt: "never")
        let confined = try home.json(["providers", "--json"]).array?.last?.object
        #expect(confined?["confined"] == true)
        #expect(confined?["needs"]?.object?["write"] == .array([.string("\(home.path)/seen")]))
        #expect(confined?["needs"]?.object?["memory"] == .null)
        try home.write(#"{"unconfined_plugins": ["canned"]}"#, to: "config/credmgr/config.json")
        #expect(try home.json(["providers", "--json"]).array?.last?.object?["confined"] == false)
        #expect(try home.run(["providers"]).standardError.contains("canned runs without a sandbox"))
        let report = try ChildProcess(Home.program, ["doctor"], environment: home.environment).run().standardOutput
        #expect(report.contains("canned: version 1 in") && report.contains("runs without a sandbox"))
    }
}

extension MarkedProcesses {
    /// Whether a process is a supervisor, or an init that one started.
    fileprivate func isConfining(_ process: pid_t) -> Bool {
        all.contains { $0.id == process && $0.arguments.contains("__confine") }
    }
}
