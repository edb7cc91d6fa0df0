import CredentialCore

/// How one program is set up.
struct SetupRecipe: Sendable {
    /// The program, as `setup` is told.
    let name: String
    /// What is done, on one line.
    let summary: String
    /// Whether the program asks for a server, so that a rule or a type must name it.
    var asksByHost = AsksByHost.never

    /// When a program asks for a server.
    enum AsksByHost: Sendable {
        /// Never: it is told which account.
        case never
        /// Where `--host` names one.
        case whereNamed
        /// Always: `--host` has to be there.
        case always
    }

    /// Makes the plan.
    let plan: @Sendable (SetupRequest, any Programs) throws(CredentialError) -> SetupPlan

    /// Every program, in the order of the list.
    static let all: [SetupRecipe] = [
        git, docker, kubectl, pip, cargo, terraform, bazel, go, npm, aws, google, azure, neomutt, msmtp, mbsync,
        timer, tokenSocket, redirectHandler,
    ]

    private static func block(
        _ name: String, _ path: String, section: String? = nil, comment: String = "#", _ lines: [String]
    ) -> SetupEdit {
        .block(ManagedBlock(name: name, comment: comment, section: section, lines: lines), path: path)
    }

    /// A call of the program through the shell, for what is not there at the server.
    ///
    /// - Parameters:
    ///   - script: it gets `words` as its arguments; `~/.local/bin` is searched first.
    ///   - answers: what tells that the server answered.
    ///   - refusals: what tells that it did not, besides the answers 401 and 403.
    private static func call(
        _ program: String, _ script: String, _ words: [String], answers: [String], refusals: [String] = []
    ) -> SetupPlan.Proof {
        .init(
            program: program,
            words: ["sh", "-c", "exec 2>&1 </dev/null; PATH=\"$HOME/.local/bin:$PATH\"; " + script, "sh"] + words,
            output: answers, refusals: SetupPlan.Proof.refused + refusals)
    }

    // MARK: By host

    private static let git = SetupRecipe(
        name: "git", summary: "a credential helper for one server", asksByHost: .always
    ) { (request, programs) throws(CredentialError) in
        let host = try request.neededHost()
        let path = request.existing([request.configHome + "/git/config", request.home + "/.gitconfig"], programs)
        let helper = request.quotedLine("git-credential")
        let script = #"printf 'protocol=https\nhost=%s\n\n' "$1" | GIT_TERMINAL_PROMPT=0 git credential fill"#
        return SetupPlan(
            edits: [
                block(
                    "git \(host)", path,
                    ["[credential \"https://\(host)\"]", "\thelper =", "\thelper = \"!\(helper)\""])
            ],
            proof: .init(
                program: "git", words: ["sh", "-c", script, "sh", host], output: ["password=", "credential="]))
    }

    private static let docker = SetupRecipe(
        name: "docker", summary: "a credential helper for one registry", asksByHost: .always
    ) { (request, programs) throws(CredentialError) in
        let host = try request.neededHost()
        let folder = request.environment["DOCKER_CONFIG"] ?? request.home + "/.docker"
        var edits: [SetupEdit] = [
            .json(
                JSONInsertion(member: "credHelpers", isArray: false, entry: "\"\(host)\": \"credmgr\""),
                path: folder + "/config.json")
        ]
        if !programs.isProgram("docker-credential-credmgr") {
            edits.append(.link(path: request.home + "/.local/bin/docker-credential-credmgr"))
        }
        return SetupPlan(
            edits: edits,
            // An image that is not there: docker tells of that only when it was let in.
            proof: call(
                "docker", #"docker manifest inspect "$1/credmgr-setup-proof:latest""#, [host],
                answers: ["manifest unknown", "name unknown", "not found"]),
            notes: ["~/.local/bin must stand in PATH for docker to find docker-credential-credmgr"])
    }

    private static let kubectl = SetupRecipe(
        name: "kubectl", summary: "a user credmgr-TYPE of kubeconfig", asksByHost: .whereNamed
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType()
        let listed = request.environment["KUBECONFIG"]?.split(separator: ":").first.map(String.init)
        let path = listed ?? request.home + "/.kube/config"
        let item =
            [
                "- name: credmgr-\(type)", "  user:", "    exec:",
                "      apiVersion: client.authentication.k8s.io/v1", "      command: \"\(request.command)\"",
                "      args:",
            ] + (["kubernetes"] + request.selection).map { "      - \"\($0)\"" } + [
                "      interactiveMode: Never", "      provideClusterInfo: true",
            ]
        let words = (request.host.map { ["--server", "https://\($0)"] } ?? []) + ["--user", "credmgr-\(type)"]
        return SetupPlan(
            edits: [try kubeUser("kubectl \(type)", path, item, programs)],
            proof: call(
                "kubectl", #"kubectl "$@" get --raw /version"#, words,
                answers: ["the server could not find", "NotFound"]),
            notes: [
                "kubectl config set-context --current --user=credmgr-\(type) has it used",
                "a rule of config.json must name the cluster's server, with its port",
            ])
    }

    /// The user as an item of the list in kubeconfig: behind the key where there is a list, else with the key.
    private static func kubeUser(
        _ name: String, _ path: String, _ item: [String], _ programs: any Programs
    ) throws(CredentialError) -> SetupEdit {
        let text = try programs.readFile(path).map { String(decoding: $0, as: UTF8.self) }
        var block = ManagedBlock(name: name, comment: "#", section: nil, lines: item, rewritten: item[0])
        let others = text.map { block.removed(from: $0)?.text ?? $0 } ?? ""
        let lines = others.split(separator: "\n").filter { !$0.hasPrefix("#") }
        let key = lines.firstIndex { $0.hasPrefix("users:") }
        if let key, lines[key] == "users:", key + 1 == lines.endIndex || lines[key + 1].hasPrefix("- ") {
            block.section = "users:"
        } else if key == nil, !others.hasPrefix("{") {
            let head = lines.isEmpty ? ["apiVersion: v1", "kind: Config"] : []
            block = ManagedBlock(
                name: name, comment: "#", section: nil, lines: head + ["users:"] + item, rewritten: item[0])
        } else {
            throw CredentialError(
                .configuration, "\(ForeignText.shown(path)) has its users in a form that is not edited here",
                hint:
                    "kubectl config set-credentials \(item[0].dropFirst("- name: ".count)) --exec-command=credmgr "
                    + "--exec-arg=kubernetes --exec-api-version=client.authentication.k8s.io/v1")
        }
        return .block(block, path: path)
    }

    private static let pip = SetupRecipe(
        name: "pip", summary: "the keyring command that pip and uv ask", asksByHost: .always
    ) { (request, programs) throws(CredentialError) in
        let host = try request.neededHost()
        let link = request.home + "/.local/bin/keyring"
        let path = request.existing(
            [request.home + "/.pip/pip.conf", request.configHome + "/pip/pip.conf"], programs)
        return SetupPlan(
            edits: [
                block("pip", path, section: "[global]", ["keyring-provider = subprocess"]), .link(path: link),
            ],
            proof: call(
                "pip",
                #"""
                d=$(mktemp -d) && trap 'rm -r "$d"' EXIT && pip download --no-input --no-deps --no-cache-dir \
                    --retries 1 -d "$d" --index-url "https://__token__@$1/simple/" credmgr-setup-proof
                """#, [host], answers: ["No matching distribution"],
                refusals: ["Retrying", "Could not fetch"]),
            notes: [
                "~/.local/bin must stand in PATH before another keyring; what credmgr does not know goes to that one",
                "pip before version 26 wants a user name in the index's URL: https://__token__@\(host)/simple/",
                "uv: export UV_KEYRING_PROVIDER=subprocess",
            ])
    }

    private static let cargo = SetupRecipe(
        name: "cargo", summary: "a credential provider of cargo", asksByHost: .always
    ) { (request, programs) throws(CredentialError) in
        let host = try request.neededHost()
        let folder = request.environment["CARGO_HOME"] ?? request.home + "/.cargo"
        let link = request.linkFolder + "/cargo-credential-credmgr"
        let path = folder + "/config.toml"
        let provider = "global-credential-providers = [\"cargo:token\", \"\(link)\"]"
        return SetupPlan(
            edits: [.link(path: link), block("cargo", path, section: "[registry]", [provider])],
            proof: call(
                "cargo", #"cd /; cargo info --index "sparse+https://$1/" credmgr-setup-proof"#, [host],
                answers: ["config.json not found", "could not find"]))
    }

    private static let terraform = SetupRecipe(
        name: "terraform", summary: "a credentials helper of Terraform and OpenTofu", asksByHost: .always
    ) { (request, _) throws(CredentialError) in
        let host = try request.neededHost()
        let link = request.home + "/.terraform.d/plugins/terraform-credentials-credmgr"
        let path = request.environment["TF_CLI_CONFIG_FILE"] ?? request.home + "/.terraformrc"
        return SetupPlan(
            edits: [
                .link(path: link),
                block("terraform", path, ["credentials_helper \"credmgr\" {", "  args = []", "}"]),
            ],
            proof: call(
                "terraform",
                #"""
                d=$(mktemp -d) && trap 'rm -r "$d"' EXIT && cd "$d" || exit
                printf 'module "proof" {\n  source = "%s/credmgr/setup-proof/any"\n}\n' "$1" >main.tf
                terraform get -no-color
                """#, [host], answers: ["not found", "does not provide"]))
    }

    private static let bazel = SetupRecipe(
        name: "bazel", summary: "a credential helper of Bazel for one server", asksByHost: .always
    ) { (request, _) throws(CredentialError) in
        let host = try request.neededHost()
        let name = host.split(separator: ":").first.map(String.init) ?? host
        let link = request.linkFolder + "/bazel-credential-credmgr"
        return SetupPlan(
            edits: [
                .link(path: link),
                block(
                    "bazel \(host)", request.home + "/.bazelrc", ["common --credential_helper=\(name)=\(link)"]),
            ],
            proof: .init(
                program: "bazel's helper",
                words: ["sh", "-c", #"printf '{"uri":"https://%s/"}' "$1" | "$2" get"#, "sh", host, link],
                output: ["\"Authorization\""]),
            notes: ["not proven: that the server lets it in"])
    }

    private static let go = SetupRecipe(
        name: "go", summary: "GOAUTH of the go command", asksByHost: .always
    ) { (request, _) throws(CredentialError) in
        let host = try request.neededHost()
        let path = request.environment["GOENV"] ?? request.configHome + "/go/env"
        return SetupPlan(
            edits: [block("go", path, ["GOAUTH=\(request.line("goauth"))"])],
            proof: call(
                "go",
                #"""
                cd / && GOPROXY="https://$1" GONOSUMDB='*' GOFLAGS=-mod=mod GOTOOLCHAIN=local \
                    go list -m credmgr.invalid/setup-proof@latest
                """#, [host], answers: ["404", "410", "not found"]))
    }

    private static let npm = SetupRecipe(
        name: "npm", summary: "a registry whose token comes from the environment", asksByHost: .always
    ) { (request, _) throws(CredentialError) in
        let host = try request.neededHost()
        let path = request.environment["NPM_CONFIG_USERCONFIG"] ?? request.home + "/.npmrc"
        return SetupPlan(
            edits: [block("npm \(host)", path, ["//\(host)/:_authToken=${NPM_TOKEN}"])],
            proof: call(
                "npm",
                #"h=$1; shift; cd /; exec "$@" npm view --registry "https://$h/" --fetch-retries 0 credmgr-setup-proof"#,
                [host, request.command, "exec"] + request.selection + ["--env", "NPM_TOKEN", "--"],
                answers: ["E404"]),
            notes: ["run npm with a token: \(request.line("exec")) --env NPM_TOKEN -- npm install"])
    }

    // MARK: Clouds

    private static let aws = SetupRecipe(
        name: "aws", summary: "a profile with a credential_process"
    ) { (request, programs) throws(CredentialError) in
        let role = try request.needed("role-arn", "the role whose credentials are wanted")
        let profile = request.values["profile"] ?? "credmgr"
        let path = request.environment["AWS_CONFIG_FILE"] ?? request.home + "/.aws/config"
        let process = request.line("aws", "--role-arn", role)
        return SetupPlan(
            edits: [
                block("aws \(profile)", path, ["[profile \(profile)]", "credential_process = \(process)"])
            ],
            proof: programs.isProgram("aws")
                ? .init(
                    program: "aws", words: ["aws", "--profile", profile, "sts", "get-caller-identity"],
                    output: ["Arn"])
                : .init(
                    program: "credential_process",
                    words: [request.command, "aws", "--role-arn", role] + request.selection,
                    output: ["AccessKeyId"]))
    }

    private static let google = SetupRecipe(
        name: "google", summary: "a credential file of the type external_account"
    ) { (request, _) throws(CredentialError) in
        let type = try request.neededType()
        let audience = try request.needed(
            "audience", "//iam.googleapis.com/projects/N/locations/global/workloadIdentityPools/POOL/providers/NAME"
        )
        let path = request.configHome + "/credmgr/google-\(type).json"
        let command = request.quotedLine("google")
        let text = """
            {
              "comment": "\(SetupEdit.mark)",
              "type": "external_account",
              "audience": "\(audience)",
              "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
              "token_url": "https://sts.googleapis.com/v1/token",
              "credential_source": {"executable": {"command": "\(command)", "timeout_millis": 30000}}
            }

            """
        return SetupPlan(
            edits: [.file(text, path: path, isProgram: false)],
            proof: .init(
                program: "the executable", words: [request.command, "google"] + request.selection,
                output: ["\"success\":true"]),
            notes: [
                "export GOOGLE_APPLICATION_CREDENTIALS=\(path) GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1",
                "not proven: that Google's token service takes the token",
            ])
    }

    private static let azure = SetupRecipe(
        name: "azure", summary: "a command az for Azure's libraries"
    ) { (request, _) throws(CredentialError) in
        let path = request.linkFolder + "/az"
        let type = request.type.map { "CREDMGR_TYPE=\($0) " } ?? ""
        let text = "#!/bin/sh\n# \(SetupEdit.mark)\n\(type)exec \(ShellQuote.quoted(request.command)) az \"$@\"\n"
        return SetupPlan(
            edits: [.file(text, path: path, isProgram: true)],
            proof: .init(
                program: "az", words: [path, "account", "get-access-token", "-o", "json"], output: ["accessToken"]),
            notes: ["Azure's libraries look in PATH: export PATH=\"\(request.linkFolder):$PATH\""])
    }

    // MARK: Mail

    private static let mailRefusals = ["failed", "No authenticators", "Could not"]

    private static let neomutt = SetupRecipe(
        name: "neomutt", summary: "IMAP and SMTP by OAuth"
    ) { (request, programs) throws(CredentialError) in
        let path = request.existing(
            [
                request.home + "/.neomuttrc", request.home + "/.muttrc", request.configHome + "/mutt/muttrc",
                request.configHome + "/neomutt/neomuttrc",
            ], programs)
        let command = request.quotedLine("token")
        return SetupPlan(
            edits: [
                block(
                    "neomutt", path,
                    [
                        "set imap_authenticators=\"oauthbearer:xoauth2\"",
                        "set imap_oauth_refresh_command=\"\(command)\"",
                        "set smtp_authenticators=\"oauthbearer:xoauth2\"",
                        "set smtp_oauth_refresh_command=\"\(command)\"",
                    ])
            ], proof: neomuttProof(request, path, programs),
            notes: request.host == nil
                ? ["not proven: that the mail server lets it in; --host IMAP-SERVER[:PORT] proves it"] : [])
    }

    /// Opens the mailbox, on a terminal of its own: neomutt has no other way.
    private static func neomuttProof(
        _ request: SetupRequest, _ path: String, _ programs: any Programs
    ) -> SetupPlan.Proof {
        guard let host = request.host, let user = request.username else {
            return .init(
                program: "token",
                words: [request.command, "token"] + request.selection + ["--format", "xoauth2"], output: ["\n"])
        }
        let program = programs.isProgram("neomutt") ? "neomutt" : "mutt"
        let script = #"""
            d=$(mktemp -d) && trap 'rm -r "$d"' EXIT && export d rc="$1" box="imaps://$2@$3/INBOX" TERM=xterm
            script -qec "exec \#(program) -n -F \"\$rc\" -e \"set folder='\$d'\" -z -f \"\$box\"" /dev/null
            """#
        return .init(
            program: program, words: ["sh", "-c", "exec 2>&1 </dev/null; " + script, "sh", path, user, host],
            output: ["Authenticating ("], refusals: mailRefusals)
    }

    private static let msmtp = SetupRecipe(
        name: "msmtp", summary: "an account with XOAUTH2"
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType(), host = try request.neededHost()
        let path = request.existing([request.home + "/.msmtprc", request.configHome + "/msmtp/config"], programs)
        let parts = host.split(separator: ":").map(String.init)
        let user = request.username ?? "USER"
        return SetupPlan(
            edits: [
                block(
                    "msmtp \(type)", path,
                    [
                        "account credmgr-\(type)", "host \(parts.first ?? host)",
                        "port \(parts.count == 2 ? parts[1] : "587")", "tls on",
                        "tls_starttls \(parts.last == "465" ? "off" : "on")", "auth xoauth2", "user \(user)",
                        "from \(user)", "passwordeval \(request.line("token"))",
                    ])
            ],
            // A sender that no server takes: told only to who has signed in, and nothing is sent.
            proof: call(
                "msmtp", #"msmtp -C "$1" -a "$2" --from='<' -- "$3""#, [path, "credmgr-\(type)", user],
                answers: ["envelope from address"], refusals: mailRefusals))
    }

    private static let mbsync = SetupRecipe(
        name: "mbsync", summary: "an IMAP account with XOAUTH2"
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType(), host = try request.neededHost()
        let path = request.existing([request.configHome + "/isyncrc", request.home + "/.mbsyncrc"], programs)
        let parts = host.split(separator: ":").map(String.init)
        let command = request.quotedLine("token")
        return SetupPlan(
            edits: [
                block(
                    "mbsync \(type)", path,
                    [
                        "IMAPAccount credmgr-\(type)", "Host \(parts.first ?? host)",
                    ] + (parts.count == 2 ? ["Port \(parts[1])"] : []) + [
                        "User \(request.username ?? "USER")", "AuthMechs XOAUTH2", "SSLType IMAPS",
                        "PassCmd \"\(command)\"", "",
                    ])
            ],
            // The mailboxes are listed, over a channel of the moment.
            proof: call(
                "mbsync",
                #"""
                d=$(mktemp -d) && trap 'rm -r "$d"' EXIT && { cat "$1"
                    printf '\nIMAPStore credmgr-far\nAccount "%s"\n\nMaildirStore credmgr-near\nPath "%s/"\n' "$2" "$d"
                    printf 'Inbox "%s/INBOX"\n\nChannel credmgr-proof\nFar :credmgr-far:\nNear :credmgr-near:\n' "$d"
                    printf 'Patterns *\n'; } >"$d/rc" && mbsync -c "$d/rc" -l credmgr-proof && echo listed
                """#, [path, "credmgr-\(type)"], answers: ["listed"]),
            notes: ["mbsync needs a SASL plugin for XOAUTH2: libsasl2-modules-kdexoauth2, or cyrus-sasl-xoauth2"])
    }

    // MARK: The desktop and the session

    private static let timer = SetupRecipe(
        name: "timer", summary: "a systemd timer that refreshes what is about to end"
    ) { (request, programs) throws(CredentialError) in
        let folder = request.configHome + "/systemd/user/credmgr-refresh"
        let service = """
            # \(SetupEdit.mark)
            [Unit]
            Description=Refresh what credmgr keeps

            [Service]
            Type=oneshot
            ExecStart=\(programs.ownPath) --no-input --quiet refresh --all
            SuccessExitStatus=4 5 6

            """
        let timer = """
            # \(SetupEdit.mark)
            [Unit]
            Description=Refresh what credmgr keeps

            [Timer]
            OnBootSec=5min
            OnUnitActiveSec=30min

            [Install]
            WantedBy=timers.target

            """
        return SetupPlan(
            edits: [
                .file(service, path: folder + ".service", isProgram: false),
                .file(timer, path: folder + ".timer", isProgram: false),
            ],
            proof: programs.isProgram("systemctl")
                ? .init(
                    program: "systemctl",
                    words: ["systemctl", "--user", "enable", "--now", "credmgr-refresh.timer"])
                : nil,
            notes: ["it runs from your next login on, or now: systemctl --user enable --now credmgr-refresh.timer"])
    }

    private static let tokenSocket = SetupRecipe(
        name: "token-socket", summary: "a socket that a unit's LoadCredential= has a token from"
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
            UMask=0077
            NoNewPrivileges=yes

            """
        return SetupPlan(
            edits: [
                .file(socket, path: folder + unit + ".socket", isProgram: false),
                .file(service, path: folder + unit + "@.service", isProgram: false),
            ],
            proof: programs.isProgram("systemctl")
                ? .init(program: "systemctl", words: ["systemctl", "--user", "enable", "--now", unit + ".socket"])
                : nil,
            notes: ["in the unit: LoadCredential=token:/run/user/UID/\(unit).sock, with your number as UID"])
    }

    private static let redirectHandler = SetupRecipe(
        name: "redirect-handler", summary: "opens redirects to a private scheme"
    ) { (request, _) throws(CredentialError) in
        let scheme = try request.needed("scheme", "that of the redirect URI, such as com.example.app")
        let path = request.dataHome + "/applications/credmgr-redirect-\(scheme).desktop"
        let text = """
            # \(SetupEdit.mark)
            [Desktop Entry]
            Type=Application
            Name=credmgr
            Exec="\(request.command)" login --complete %u
            NoDisplay=true
            Terminal=false
            MimeType=x-scheme-handler/\(scheme);

            """
        return SetupPlan(
            edits: [.file(text, path: path, isProgram: false)],
            proof: .init(
                program: "xdg-mime",
                words: ["xdg-mime", "default", "credmgr-redirect-\(scheme).desktop", "x-scheme-handler/\(scheme)"]))
    }
}
