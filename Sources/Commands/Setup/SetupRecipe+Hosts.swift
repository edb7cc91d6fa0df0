import CredentialCore

/// Programs that ask for a server.
extension SetupRecipe {
    static let git = SetupRecipe(
        name: "git", summary: "a credential helper for one server", asksByHost: .always
    ) { (request, programs) throws(CredentialError) in
        let host = try request.neededHost()
        // As git config --global does it.
        let own = request.home + "/.gitconfig"
        let path =
            request.set("GIT_CONFIG_GLOBAL")
            ?? request.existing([own, request.configHome + "/git/config", own], programs)
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
        let folder = request.set("DOCKER_CONFIG") ?? request.home + "/.docker"
        let entry = JSONInsertion(member: "credHelpers", isArray: false, entry: "\"\(host)\": \"credmgr\"")
        let link = request.home + "/.local/bin/docker-credential-credmgr"
        // One that setup has made is found in PATH, too.
        let isLinked = !programs.isProgram("docker-credential-credmgr") || SetupEdit.isOwnLink(link, programs)
        return SetupPlan(
            edits: [.json(entry, path: folder + "/config.json")] + (isLinked ? [.link(path: link)] : []),
            // An image that does not exist: docker reports that only when it was let in.
            proof: call(
                "docker", #"docker manifest inspect "$1/credmgr-setup-proof:latest""#, [host],
                answers: ["manifest unknown", "name unknown", "not found"]),
            notes: isLinked ? ["~/.local/bin must be in PATH for docker to find docker-credential-credmgr"] : [])
    }

    static let kubectl = SetupRecipe(
        name: "kubectl", summary: "a user credmgr-TYPE of kubeconfig", asksByHost: .whereNamed, isByType: true
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType()
        let listed = request.set("KUBECONFIG")?.split(separator: ":").first.map(String.init)
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
                "to use it: kubectl config set-context --current --user=credmgr-\(type)",
                "a rule of config.json must name the cluster's server, with its port",
            ])
    }

    /// The user as an item of the list in kubeconfig: behind the key if there is a list, else with the key.
    private static func kubeUser(
        _ name: String, _ path: String, _ item: [String], _ programs: any ProcessPort
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
                .configuration,
                "cannot edit \(UntrustedText.shown(path)): the format of its users is not supported",
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
        let own = request.configHome + "/pip/pip.conf"
        // The file of the variable is read in place of the user's, but only if it exists.
        let paths =
            (request.set("PIP_CONFIG_FILE").map { [$0] } ?? []) + [own, request.home + "/.pip/pip.conf", own]
        let path = request.existing(paths, programs)
        return SetupPlan(
            edits: [
                block(
                    "pip", path, section: "[global]", ["keyring-provider = subprocess"],
                    keys: ["keyring-provider", "keyring_provider"]), .link(path: link),
            ],
            proof: call(
                "pip",
                #"""
                d=$(mktemp -d) && trap 'rm -r "$d"' EXIT && pip download --no-input --no-deps --no-cache-dir \
                    --retries 1 -d "$d" --index-url "https://__token__@$1/simple/" credmgr-setup-proof
                """#, [host], answers: ["No matching distribution"],
                refusals: ["Retrying", "Could not fetch"]),
            notes: [
                "~/.local/bin must be in PATH before another keyring; credmgr passes other requests to that "
                    + "keyring",
                "pip before version 26 requires a user name in the index's URL: https://__token__@\(host)/simple/",
                "uv: export UV_KEYRING_PROVIDER=subprocess",
            ])
    }

    static let cargo = SetupRecipe(
        name: "cargo", summary: "a credential provider of cargo", asksByHost: .always
    ) { (request, programs) throws(CredentialError) in
        let host = try request.neededHost()
        let folder = request.set("CARGO_HOME") ?? request.home + "/.cargo"
        let link = request.linkFolder + "/cargo-credential-credmgr"
        // cargo reads the older name if both exist.
        let path = request.existing([folder + "/config", folder + "/config.toml"], programs)
        let provider = "global-credential-providers = [\"cargo:token\", \"\(link)\"]"
        return SetupPlan(
            edits: [
                .link(path: link),
                block(
                    "cargo", path, section: "[registry]", [provider], keys: ["global-credential-providers"],
                    sufficient: "\"\(link)\""),
            ],
            proof: call(
                "cargo", #"cd /; cargo info --index "sparse+https://$1/" credmgr-setup-proof"#, [host],
                answers: ["config.json not found", "could not find"]))
    }

    static let terraform = SetupRecipe(
        name: "terraform", summary: "a credentials helper of Terraform and OpenTofu", asksByHost: .always
    ) { (request, _) throws(CredentialError) in
        let host = try request.neededHost()
        let link = request.home + "/.terraform.d/plugins/terraform-credentials-credmgr"
        let path = request.set("TF_CLI_CONFIG_FILE") ?? request.home + "/.terraformrc"
        return SetupPlan(
            edits: [
                .link(path: link),
                block(
                    "terraform", path, ["credentials_helper \"credmgr\" {", "  args = []", "}"],
                    keys: ["credentials_helper"], sufficient: "credentials_helper \"credmgr\""),
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
                    "bazel \(host)", request.home + "/.bazelrc", ["common --credential_helper=\(name)=\(link)"],
                    keys: ["common", "build"].map { "\($0) --credential_helper=\(name)=" }),
            ],
            // Bazel requires a workspace and a server to start with, so the proof shows the helper's output to the
            // server instead.
            proof: call(
                "curl",
                #"""
                a=$(printf '{"uri":"https://%s/credmgr-setup-proof"}' "$1" | "$2" get) || { echo "$a"; exit 1; }
                a=$(printf %s "$a" | sed -n 's/.*"Authorization":\["\([^"]*\)"\].*/Authorization: \1/p')
                printf %s "${a:?no token}" | curl -sS -o /dev/null -m 45 -H @- -w 'answered %{http_code}\n' \
                    "https://$1/credmgr-setup-proof"
                """#, [host, link], answers: ["answered "], refusals: ["answered 000"]),
            notes: ["not verified: that bazel calls its helper, because it does so only for targets of \(name)"])
    }

    static let go = SetupRecipe(
        name: "go", summary: "GOAUTH of the go command", asksByHost: .always
    ) { (request, _) throws(CredentialError) in
        let host = try request.neededHost()
        let path = request.set("GOENV") ?? request.configHome + "/go/env"
        return SetupPlan(
            edits: [
                block(
                    "go", path, ["GOAUTH=\(request.line("goauth"))"], keys: ["GOAUTH"],
                    sufficient: request.line("goauth"))
            ],
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
        let path =
            request.set("NPM_CONFIG_USERCONFIG") ?? request.set("npm_config_userconfig") ?? request.home + "/.npmrc"
        let key = "//\(host)/:_authToken"
        var block = ManagedBlock(
            name: "npm \(host)", comment: "#", section: nil, lines: [key + "=${NPM_TOKEN}"], keys: [key])
        block.isSecret = true
        return SetupPlan(
            edits: [.block(block, path: path)],
            proof: call(
                "npm",
                #"h=$1; shift; cd /; exec "$@" npm view --registry "https://$h/" --fetch-retries 0 credmgr-setup-proof"#,
                [host, request.command, "exec"] + request.selection + ["--env", "NPM_TOKEN", "--"],
                answers: ["E404"]),
            notes: ["run npm with a token: \(request.line("exec")) --env NPM_TOKEN -- npm install"])
    }
}
