import Foundation
import StrictJSON
import TestSupport
import Testing

/// `setup` for the socket of a broker. The broker itself need not run.
@Suite struct SetupBrokerTests {
    private let home: Home

    init() throws {
        home = try Home()
        try home.write(
            #"{"entries": [{"name": "work", "type": "Work", "release": "token"}]}"#,
            to: "config/credmgr/brokers/dev.json")
    }

    private func kept() -> [String: Data] {
        home.files.filter { !$0.key.contains("/locks/") && !$0.key.hasPrefix("run/") }
    }

    private var socket: String { "\(home.path)/run/credmgr-brokers/dev" }

    @Test(arguments: ["broker", "podman", "devcontainer", "ssh-host"])
    func `setup refuses a broker that is not defined`(program: String) throws {
        let before = kept(), words = ["setup", program, "--host", "devbox"]
        let refused = try home.run(words + ["--broker", "none"], exits: 2).standardError
        #expect(refused.contains("there is no broker none"), "\(refused)")
        #expect(refused.contains("hint: credmgr broker add --help"), "\(refused)")
        #expect(try home.run(words, exits: 2).standardError.contains("--broker is required"))
        for bad in ["../x", "-x", "a/b"] { try home.run(words + ["--broker=\(bad)"], exits: 2) }
        #expect(kept() == before)
    }

    // MARK: Units

    @Test func `setup broker writes confined units, and undo removes them`() throws {
        let before = kept(), words = ["setup", "broker", "--broker", "dev"]
        try home.run(words + ["--dry-run"])
        #expect(kept() == before)
        try home.run(words + ["--no-verify"])
        let folder = "config/systemd/user/credmgr-broker-dev"
        let socket = try #require(home.text(of: folder + ".socket"))
        #expect(socket.contains("ListenStream=%t/credmgr-brokers/dev/sock\nSocketMode=0600\nDirectoryMode=0700\n"))
        let service = try #require(home.text(of: folder + ".service"))
        #expect(service.contains(" --no-input broker serve dev\n") && service.contains("\nNoNewPrivileges=yes\n"))
        #expect(service.contains("\nRestrictNamespaces=yes\n") && service.contains("\nSystemCallFilter=@system"))
        #expect(!service.contains("CREDMGR_CACHE=off"))
        let list = try home.run(["setup", "--list"]).standardOutput
        #expect(list.contains("broker dev\t\(home.path)/\(folder).socket\n"), "\(list)")
        // The file of the broker may be gone by then.
        try FileManager.default.removeItem(atPath: home.path + "/config/credmgr/brokers/dev.json")
        try home.run(words + ["--undo"])
        #expect(kept().keys.filter { $0.contains("systemd") || $0.contains("setup.json") } == [])
    }

    @Test(.needs(Need("systemd-analyze", isDemanded: false, isThere: ProgramScene.has("systemd-analyze"))))
    func `systemd accepts the broker's units`() throws {
        try home.run(["setup", "broker", "--broker", "dev", "--no-verify"])
        let folder = home.path + "/config/systemd/user/credmgr-broker-dev"
        let outcome = try ChildProcess(
            "systemd-analyze", ["--user", "verify", folder + ".socket", folder + ".service"],
            environment: home.environment
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        let complaints = outcome.standardError.split(separator: "\n").filter { $0.contains("credmgr-broker") }
        #expect(complaints == [])
    }

    @Test func `setup broker enables the socket, and undo disables it`() throws {
        try home.write(
            "#!/bin/sh\necho \"$*\" >>'\(home.path)/calls'\n", to: "programs/systemctl", mode: 0o755)
        let environment = ["PATH": home.path + "/programs:/usr/bin:/bin"]
        let done = try home.run(["setup", "broker", "--broker", "dev"], environment: environment).standardError
        #expect(done.contains("credmgr broker env dev --for container"), "\(done)")
        try home.run(["setup", "broker", "--broker", "dev", "--undo"], environment: environment)
        #expect(
            home.text(of: "calls")
                == "--user enable --now credmgr-broker-dev.socket\n--user disable --now credmgr-broker-dev.socket\n"
        )
    }

    // MARK: podman

    private func podman(_ help: String) throws -> [String: String] {
        try home.write(
            """
            #!/bin/sh
            case "$*" in
            --help) echo '\(help)' ;;
            *) [ -e "$XDG_CONFIG_HOME/containers/containers.conf.modules/$2" ] && echo 4.9.3 ;;
            esac

            """, to: "programs/podman", mode: 0o755)
        return ["PATH": home.path + "/programs:/usr/bin:/bin"]
    }

    /// The help is that of podman 4.9.3, reduced to one line.
    @Test func `setup podman writes a module with the mount, and undo removes it`() throws {
        let environment = try podman("      --module stringArray   Load the containers.conf(5) module")
        let before = kept(), words = ["setup", "podman", "--broker", "dev"]
        let done = try home.run(words, environment: environment).standardError
        #expect(
            done.contains("podman accepted the setup") && done.contains("podman --module credmgr-dev.conf run"),
            "\(done)"
        )
        let module = try #require(home.text(of: "config/containers/containers.conf.modules/credmgr-dev.conf"))
        #expect(module.contains("volumes = [\"\(socket):/run/credmgr:ro\", {append=true}]\n"))
        #expect(module.contains("env = [\"CREDMGR_SOCK=/run/credmgr/sock\", {append=true}]\n"))
        #expect(try home.run(["setup", "--list"]).standardOutput.hasPrefix("podman dev\t"))
        try home.run(words + ["--undo"], environment: environment)
        #expect(kept() == before)
    }

    @Test func `setup podman prints the options when podman has no modules`() throws {
        let environment = try podman("      --log-level string"), before = kept()
        let refused = try home.run(
            ["setup", "podman", "--broker", "dev"], environment: environment, exits: 2
        ).standardError
        #expect(
            refused.contains(
                "hint: podman run -v \(socket):/run/credmgr:ro -e CREDMGR_SOCK=/run/credmgr/sock IMAGE"),
            "\(refused)")
        #expect(kept() == before)
    }

    // MARK: devcontainer

    @Test(arguments: [
        "{\n  // our image\n  \"image\": \"debian:12\"\n}\n",
        "{\n  \"image\": \"debian:12\",\n  \"mounts\": [\n    \"source=a,target=/a,type=volume\", // mine\n  ],\n  \"containerEnv\": {\"A\": \"b\"},\n}\n",
    ])
    func `setup devcontainer adds mount and variable, and undo keeps every comment`(own: String) throws {
        let file = "project/.devcontainer/devcontainer.json"
        try home.write(own, to: file)
        let before = kept(), words = ["setup", "devcontainer", "--broker", "dev"]
        let environment = ["PWD": home.path + "/project"]
        try home.run(words + ["--dry-run"], environment: environment)
        #expect(kept() == before)
        let done = try home.run(words, environment: environment)
        #expect(done.standardError.contains("rebuild the container"))
        let text = try #require(home.text(of: file))
        let object = try JSONValue.parse(Array(text.utf8), dialect: .commented).object
        #expect(
            object?["mounts"]?.array?.first?.string
                == "type=bind,source=${localEnv:XDG_RUNTIME_DIR}/credmgr-brokers/dev,target=/run/credmgr,readonly")
        #expect(object?["containerEnv"]?.object?["CREDMGR_SOCK"] == "/run/credmgr/sock")
        #expect(object?["image"] == "debian:12" && text.contains("// "))
        try home.run(words, environment: environment)
        #expect(home.text(of: file) == text)
        #expect(try home.run(["setup", "--list"]).standardOutput == "devcontainer dev\t\(home.path)/\(file)\n")
        try home.run(words + ["--undo"], environment: environment)
        #expect(kept() == before)
    }

    @Test func `setup devcontainer needs a devcontainer.json`() throws {
        let refused = try home.run(
            ["setup", "devcontainer", "--broker", "dev"], environment: ["PWD": home.path], exits: 2
        ).standardError
        #expect(refused.contains("there is no devcontainer.json in \(home.path)"), "\(refused)")
    }

    // MARK: ssh

    /// A fake `ssh` that is the remote host, too: the remote home is below this one.
    private func ssh(home remote: String) throws -> [String: String] {
        try home.write(
            """
            #!/bin/sh
            [ "$1" = -G ] && { echo 'host devbox'; echo 'user ada'; exit 0; }
            echo "$*" >>'\(home.path)/calls'
            shift 6
            HOME='\(remote)' exec sh -c "$1"

            """, to: "programs/ssh", mode: 0o755)
        return ["PATH": home.path + "/programs:/usr/bin:/bin"]
    }

    private static let words = ["setup", "ssh-host", "--broker", "dev", "--host", "devbox"]

    @Test func `setup ssh-host forwards the socket, and undo restores the file byte for byte`() throws {
        let remote = home.path + "/remote", environment = try ssh(home: remote)
        try home.write("Host *\n    Compression yes\n", to: ".ssh/config")
        let before = kept(), words = Self.words + ["--remote-home", remote]
        try home.run(words + ["--dry-run"], environment: environment)
        #expect(kept() == before)
        let done = try home.run(words, environment: environment).standardError
        #expect(done.contains("ssh accepted the setup") && done.contains("AcceptEnv CREDMGR_SOCK"), "\(done)")
        let text = try #require(home.text(of: ".ssh/config"))
        let place = "\(remote)/.credmgr-brokers/dev/sock"
        #expect(
            text.contains(
                "Host devbox\n    RemoteForward \(place) \(socket)/sock\n    SetEnv CREDMGR_SOCK=\(place)\n"))
        let made = try FileManager.default.attributesOfItem(atPath: remote + "/.credmgr-brokers/dev")
        #expect(made[.posixPermissions] as? Int == 0o700)
        #expect(
            try home.run(["setup", "--list"]).standardOutput == "ssh-host dev devbox\t\(home.path)/.ssh/config\n")
        try home.run(words + ["--undo"], environment: environment)
        #expect(home.text(of: ".ssh/config") == "Host *\n    Compression yes\n")
    }

    @Test func `setup ssh-host compares the home directory on the remote host`() throws {
        let environment = try ssh(home: home.path + "/remote")
        let failed = try home.run(Self.words, environment: environment, exits: 1).standardError
        #expect(failed.contains("the directory is \(home.path)/remote/.credmgr-brokers/dev"), "\(failed)")
        #expect(home.text(of: ".ssh/config") == nil)
        try home.run(Self.words + ["--no-verify"], environment: environment)
        #expect(
            home.text(of: ".ssh/config")?.contains("RemoteForward /home/ada/.credmgr-brokers/dev/sock ") == true)
    }

    @Test(.needs(Need("ssh", isDemanded: false, isThere: ProgramScene.has("ssh"))))
    func `ssh reads the block as it is meant`() throws {
        try home.run(Self.words + ["--no-verify", "--remote-home", "/home/ada"])
        let outcome = try ChildProcess(
            "ssh", ["-F", home.path + "/.ssh/config", "-G", "devbox"], environment: home.environment
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        let place = "/home/ada/.credmgr-brokers/dev/sock"
        #expect(
            outcome.standardOutput.contains("remoteforward \(place) \(socket)/sock\n"), "\(outcome.standardOutput)")
        #expect(outcome.standardOutput.contains("setenv CREDMGR_SOCK=\(place)\n"))
    }
}
