import CredentialCore
import StrictJSON

/// The socket of a broker, passed on to containers and remote hosts.
extension SetupRecipe {
    /// The directory of the socket in a container. The directory is mounted, since a new start makes a new socket.
    private static let folderInside = "/run/credmgr"

    private static let brokerName: @Sendable (SetupRequest) -> String? = { $0.values["broker"] }

    /// The service keeps the user's kernel keyring, which seals the token cache.
    static let broker = SetupRecipe(
        name: "broker", summary: "systemd units that serve a broker", subject: brokerName, isForBroker: true
    ) { (request, programs) throws(CredentialError) in
        let broker = try request.neededBroker()
        let unit = "credmgr-broker-\(broker)", folder = request.configHome + "/systemd/user/"
        let socket = """
            # \(SetupEdit.mark)
            [Unit]
            Description=Socket of the credmgr broker \(broker)

            [Socket]
            ListenStream=%t/credmgr-brokers/\(broker)/sock
            SocketMode=0600
            DirectoryMode=0700
            RemoveOnStop=yes

            [Install]
            WantedBy=sockets.target

            """
        let service = """
            # \(SetupEdit.mark)
            [Unit]
            Description=The credmgr broker \(broker)
            Requires=\(unit).socket
            After=\(unit).socket

            [Service]
            ExecStart=\(programs.ownPath) --no-input broker serve \(broker)
            KeyringMode=shared
            \(confinement)

            """
        return SetupPlan(
            edits: [
                .file(socket, path: folder + unit + ".socket", isProgram: false),
                .file(service, path: folder + unit + ".service", isProgram: false),
            ],
            proof: enabling(unit + ".socket", programs), undoing: disabling(unit + ".socket", programs),
            notes: ["mount the directory of the socket: credmgr broker env \(broker) --for container"])
    }

    /// A module applies only to the calls that name it: no other container gets the socket.
    static let podman = SetupRecipe(
        name: "podman", summary: "a module that mounts a broker's socket", subject: brokerName, isForBroker: true
    ) { (request, programs) throws(CredentialError) in
        let broker = try request.neededBroker(), module = "credmgr-\(broker).conf"
        let folder = request.isUndo ? "" : try request.brokerFolder(broker)
        if !request.isUndo { try checkModules(folder, programs) }
        let path = request.configHome + "/containers/containers.conf.modules/" + module
        let text = """
            # \(SetupEdit.mark)
            [containers]
            volumes = ["\(folder):\(folderInside):ro", {append=true}]
            env = ["CREDMGR_SOCK=\(folderInside)/sock", {append=true}]

            """
        return SetupPlan(
            edits: [.file(text, path: path, isProgram: false)],
            proof: programs.isProgram("podman")
                ? .init(
                    program: "podman",
                    words: ["podman", "--module", module, "info", "--format", "{{.Version.Version}}"],
                    asksForToken: false) : nil,
            notes: ["start a container with the socket: podman --module \(module) run IMAGE"])
    }

    /// Refuses a podman without modules, which came with 4.7, and names the options that every version has.
    private static func checkModules(
        _ folder: String, _ programs: any ProcessPort
    ) throws(CredentialError) {
        guard programs.isProgram("podman") else { return }
        let help = try programs.run(["podman", "--help"], seconds: 30)
        guard String(decoding: help.output, as: UTF8.self).range(ofBytes: "--module") == nil else { return }
        let options = "-v \(folder):\(folderInside):ro -e CREDMGR_SOCK=\(folderInside)/sock"
        throw CredentialError(
            .unsupported, "cannot write a module: podman has no option --module, which version 4.7 brought",
            hint: LocalizedMessage(verbatim: "podman run \(options) IMAGE"))
    }

    static let devcontainer = SetupRecipe(
        name: "devcontainer", summary: "the mount of a broker's socket in devcontainer.json", subject: brokerName,
        isForBroker: true
    ) { (request, programs) throws(CredentialError) in
        let broker = try request.neededBroker(), folder = request.set("PWD") ?? ""
        let places = ["/.devcontainer/devcontainer.json", "/.devcontainer.json"].map { folder + $0 }
        var path: String?
        for place in places where path == nil {
            if try programs.readFile(place) != nil { path = place }
        }
        guard let path else {
            throw CredentialError(
                .usage, "there is no devcontainer.json in \(UntrustedText.shown(folder))",
                hint: "change to the directory of the project")
        }
        // Each user has an own runtime directory, and the file may be shared.
        let source = "${localEnv:XDG_RUNTIME_DIR}/credmgr-brokers/\(broker)"
        let mount = "\"type=bind,source=\(source),target=\(folderInside),readonly\""
        return SetupPlan(
            edits: [
                .json(
                    JSONInsertion(member: "mounts", isArray: true, entry: mount, isPathChosen: true), path: path),
                .json(
                    JSONInsertion(
                        member: "containerEnv", isArray: false,
                        entry: "\"CREDMGR_SOCK\": \"\(folderInside)/sock\"", isPathChosen: true), path: path),
            ], proof: nil, notes: ["rebuild the container"])
    }

    static let sshHost = SetupRecipe(
        name: "ssh-host", summary: "a broker's socket on a remote host, by ssh",
        subject: { "\($0.values["broker"] ?? "") \($0.host ?? "")" }, isForBroker: true
    ) { (request, programs) throws(CredentialError) in
        let broker = try request.neededBroker(), host = try request.neededHost()
        let name = "ssh-host \(broker) \(host)", path = request.home + "/.ssh/config"
        guard !request.isUndo else { return SetupPlan(edits: [block(name, path, [])]) }
        let home = if let home = request.values["remote-home"] { home } else { try remoteHome(host, programs) }
        guard home.hasPrefix("/") else {
            throw CredentialError(.usage, "--remote-home must be a path from the root")
        }
        let folder = "\(home)/.credmgr-brokers/\(broker)"
        let script = #"""
            exec ssh -T -o BatchMode=yes -o ClearAllForwardings=yes "$1" \
                'umask 077; d=$HOME/.credmgr-brokers/'"$2"'; mkdir -p "$d" && rm -f "$d/sock" && echo "the directory is $d."'
            """#
        return SetupPlan(
            edits: [
                block(
                    name, path,
                    [
                        "Host \(host)", "    RemoteForward \(folder)/sock \(try request.brokerFolder(broker))/sock",
                        "    SetEnv CREDMGR_SOCK=\(folder)/sock",
                    ])
            ],
            proof: .init(
                program: "ssh", words: ["sh", "-c", "exec 2>&1 </dev/null; " + script, "sh", host, broker],
                output: ["the directory is \(folder).\n"], asksForToken: false),
            notes: [
                "sshd must have 'AcceptEnv CREDMGR_SOCK', else export it there: CREDMGR_SOCK=\(folder)/sock",
                "sshd must have 'StreamLocalBindUnlink yes', else a broken connection leaves a socket that blocks",
            ])
    }

    /// The home directory on the remote host, as far as the user's name there tells; the proof compares it.
    private static func remoteHome(_ host: String, _ programs: any ProcessPort) throws(CredentialError) -> String {
        guard programs.isProgram("ssh") else {
            throw CredentialError(
                .inputOutput, "cannot find the user on \(host): ssh is not installed",
                hint: "--remote-home DIRECTORY")
        }
        // This reads the configuration and connects to no host.
        let result = try programs.run(["ssh", "-G", host], seconds: 30)
        let lines = String(decoding: result.output, as: UTF8.self).split(whereSeparator: \.isNewline)
        let user = lines.first { $0.hasPrefix("user ") }?.dropFirst("user ".count)
        guard result.exitStatus == 0, let user, !user.isEmpty, !user.contains("/"), !user.contains(" ") else {
            throw CredentialError(
                .inputOutput, "cannot find the user on \(host) with ssh -G", hint: "--remote-home DIRECTORY")
        }
        return user == "root" ? "/root" : "/home/\(user)"
    }
}
