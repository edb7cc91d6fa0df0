import CredentialCore

/// Programs that ask for a server.
extension SetupRecipe {
    static let git = SetupRecipe(
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

    static let docker = SetupRecipe(
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

    static let kubectl = SetupRecipe(
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

    static let pip = SetupRecipe(
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

    static let cargo = SetupRecipe(
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

    static let terraform = SetupRecipe(
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

    static let bazel = SetupRecipe(
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
            // Bazel asks for a workspace and a server to start with: what its helper gives is shown to the server instead.
            proof: call(
                "curl",
                #"""
                a=$(printf '{"uri":"https://%s/credmgr-setup-proof"}' "$1" | "$2" get) || { echo "$a"; exit 1; }
                a=$(printf %s "$a" | sed -n 's/.*"Authorization":\["\([^"]*\)"\].*/Authorization: \1/p')
                printf %s "${a:?no token}" | curl -sS -o /dev/null -m 45 -H @- -w 'answered %{http_code}\n' \
                    "https://$1/credmgr-setup-proof"
                """#, [host, link], answers: ["answered "], refusals: ["answered 000"]),
            notes: ["not proven: that bazel asks its helper, which it does for targets of \(name) only"])
    }

    static let go = SetupRecipe(
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

    static let npm = SetupRecipe(
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
}
