import CredentialCore

/// The desktop and the session.
extension SetupRecipe {
    /// The restrictions of a unit that runs this program, as in the units of the packages, whose comments give the
    /// reasons. A unit may get a kernel keyring of its own from systemd, in which no cache would be found.
    private static let walls = """
        Environment=CREDMGR_CACHE=off
        KeyringMode=private
        \(confinement)
        """

    /// The restrictions that each unit has, with any keyring.
    static let confinement = """
        UMask=0077
        DevicePolicy=closed
        LockPersonality=yes
        MemoryDenyWriteExecute=yes
        NoNewPrivileges=yes
        ProtectClock=yes
        ProtectHostname=yes
        ProtectKernelLogs=yes
        ProtectKernelModules=yes
        ProtectKernelTunables=yes
        RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        SystemCallErrorNumber=EPERM
        SystemCallFilter=@system-service seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
        SystemCallFilter=~@privileged @resources
        """

    /// Empty if there is no systemd.
    static func enabling(_ unit: String, _ programs: any ProcessPort) -> SetupPlan.Proof? {
        guard programs.isProgram("systemctl") else { return nil }
        return .init(
            program: "systemctl", words: ["systemctl", "--user", "enable", "--now", unit], asksForToken: false)
    }

    static func disabling(_ unit: String, _ programs: any ProcessPort) -> [String] {
        programs.isProgram("systemctl") ? ["systemctl", "--user", "disable", "--now", unit] : []
    }

    /// Period and `--min-valid` fit each other as in the units of the packages, whose comments say how.
    static let timer = SetupRecipe(
        name: "timer", summary: "a systemd timer that refreshes what is about to end"
    ) { (request, programs) throws(CredentialError) in
        let folder = request.configHome + "/systemd/user/credmgr-refresh"
        let service = """
            # \(SetupEdit.mark)
            [Unit]
            Description=Refresh what credmgr keeps

            [Service]
            Type=oneshot
            ExecStart=\(programs.ownPath) --no-input --quiet refresh --all --min-valid 290
            SuccessExitStatus=4 5 6
            \(walls)

            """
        let timer = """
            # \(SetupEdit.mark)
            [Unit]
            Description=Refresh what credmgr keeps

            [Timer]
            OnStartupSec=2min
            OnUnitActiveSec=3min
            RandomizedDelaySec=20s
            AccuracySec=10s

            [Install]
            WantedBy=timers.target

            """
        return SetupPlan(
            edits: [
                .file(service, path: folder + ".service", isProgram: false),
                .file(timer, path: folder + ".timer", isProgram: false),
            ],
            proof: enabling("credmgr-refresh.timer", programs),
            undoing: disabling("credmgr-refresh.timer", programs),
            notes: [
                "the timer starts at your next login, or now: systemctl --user enable --now credmgr-refresh.timer"
            ])
    }

    static let tokenSocket = SetupRecipe(
        name: "token-socket", summary: "a socket that a unit's LoadCredential= has a token from", isByType: true
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType()
        let unit = "credmgr-token-\(type)", folder = request.configHome + "/systemd/user/"
        let socket = """
            # \(SetupEdit.mark)
            [Unit]
            Description=Tokens of credmgr for \(type)

            [Socket]
            ListenStream=%t/\(unit).sock
            SocketMode=0600
            Accept=yes

            [Install]
            WantedBy=sockets.target

            """
        let service = """
            # \(SetupEdit.mark)
            [Unit]
            Description=A token of credmgr for \(type)
            CollectMode=inactive-or-failed

            [Service]
            ExecStart=\(programs.ownPath) --no-input --quiet token \(request.selection.joined(separator: " "))
            StandardInput=null
            StandardOutput=socket
            StandardError=journal
            \(walls)

            """
        return SetupPlan(
            edits: [
                .file(socket, path: folder + unit + ".socket", isProgram: false),
                .file(service, path: folder + unit + "@.service", isProgram: false),
            ],
            proof: enabling(unit + ".socket", programs), undoing: disabling(unit + ".socket", programs),
            notes: ["in the unit: LoadCredential=token:/run/user/UID/\(unit).sock, with your user ID as UID"])
    }

    static let redirectHandler = SetupRecipe(
        name: "redirect-handler", summary: "opens redirects to a private scheme"
    ) { (request, _) throws(CredentialError) in
        let scheme = try request.needed("scheme", "the scheme of the redirect URI, such as com.example.app")
        let path = request.dataHome + "/applications/credmgr-redirect-\(scheme).desktop"
        let text = """
            # \(SetupEdit.mark)
            [Desktop Entry]
            Type=Application
            Name=credmgr
            Exec=env CREDMGR_HANDLER=1 "\(request.command)" login --complete %u
            NoDisplay=true
            Terminal=false
            MimeType=x-scheme-handler/\(scheme);

            """
        let type = "x-scheme-handler/\(scheme)", entry = "credmgr-redirect-\(scheme).desktop"
        return SetupPlan(
            edits: [
                .file(text, path: path, isProgram: false),
                block(
                    "redirect-handler \(scheme)", request.configHome + "/mimeapps.list",
                    section: "[Default Applications]", ["\(type)=\(entry)"], keys: [type]),
            ],
            proof: .init(
                program: "xdg-mime", words: ["xdg-mime", "query", "default", type], output: [entry],
                asksForToken: false))
    }
}
