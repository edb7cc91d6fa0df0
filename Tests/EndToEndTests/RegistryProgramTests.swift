import Foundation
import TestSupport
import Testing

/// Programs of packages, modules and images, each doing its real job at a server that requires the token.
/// `credmgr setup` sets each one up, and the program itself proves that.
@Suite struct `Package programs with a token` {
    private let scene: ProgramScene
    private let registries: Registries
    private let environment: [String: String]

    init() throws {
        scene = try ProgramScene()
        registries = try Registries(token: scene.token)
        environment = scene.environment(trusting: registries.certificate)
    }

    /// Whether a path was given out, by a scheme.
    private func gave(_ path: String, _ scheme: String) -> Bool {
        registries.requests.contains("GET \(path) 200 \(scheme)")
    }

    private func setUp(_ program: String) throws {
        try scene.setUp([program, "--host", registries.encrypted, "--rule"], environment)
    }

    private func folder(_ name: String, _ files: [String: String]) throws -> String {
        for (file, text) in files { try scene.home.write(text, to: name + "/" + file) }
        return scene.home.path + "/" + name
    }

    @Test func `git reads a repository`() throws {
        try scene.home.run(
            ["setup", "git", "--host", registries.encrypted, "--rule", "--type", DemoTenant.typeName],
            environment: environment)
        var variables = environment
        (variables["GIT_SSL_CAINFO"], variables["GIT_TERMINAL_PROMPT"]) = (registries.certificate, "0")
        let read = try scene.run(["git", "ls-remote", "https://\(registries.encrypted)/git/tiny.git"], variables)
        #expect(read.standardOutput.contains("refs/heads/tiny"))
        #expect(gave("/git/tiny.git/info/refs?service=git-upload-pack", "Basic"))
    }

    @Test func `Bazel's helper is proven by a request with its headers`() throws {
        try setUp("bazel")
        #expect(registries.requests.contains("GET /credmgr-setup-proof 404 Bearer"))
    }

    @Test(.needs(Need("uv", isThere: ProgramScene.has("uv"))))
    func `pip, uv and twine take and bring a wheel`() throws {
        try setUp("pip")
        let index = "https://\(registries.encrypted)/simple/", target = scene.home.path + "/installed"
        try scene.run(
            ["pip", "install", "--no-cache-dir", "--target", target, "--index-url", index, "tiny"], environment)
        #expect(scene.home.text(of: "installed/tiny.py") == "size = 1\n")
        try scene.run(
            [
                "uv", "pip", "install", "--no-cache", "--python", ProgramScene.clients + "/python3", "--target",
                target + "-by-uv", "--keyring-provider", "subprocess", "--index-url",
                "https://__token__@\(registries.encrypted)/simple/", "tiny",
            ], environment)
        #expect(scene.home.text(of: "installed-by-uv/tiny.py") == "size = 1\n")

        // twine imports keyring.
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        var importing = environment
        importing["PYTHONPATH"] = scene.home.path + "/python"
        try FileManager.default.copyItem(
            atPath: root.appendingPathComponent("python/credmgr-keyring").path, toPath: scene.home.path + "/source")
        try scene.run(
            [
                "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "--target",
                scene.home.path + "/python", scene.home.path + "/source",
            ], environment)
        let before = registries.requests.count
        try scene.run(
            ["pip", "download", "--no-deps", "--no-cache-dir", "-d", target, "--index-url", index, "tiny"],
            environment)
        try scene.run(
            [
                "twine", "upload", "--non-interactive", "--repository-url",
                "https://\(registries.encrypted)/legacy/", "-u", "__token__", target + "/tiny-0.1-py3-none-any.whl",
            ], importing)
        #expect(registries.requests.dropFirst(before).contains("POST /legacy/ 200 Basic"))
    }

    @Test(
        .needs(
            Need(
                "Debian 12's cargo has no credential providers", isDemanded: false,
                isThere: ProgramScene.has("cargo"))))
    func `cargo fetches a crate`() throws {
        try setUp("cargo")
        let package = try folder(
            "crate",
            [
                "Cargo.toml": """
                [package]
                name = "user"
                version = "0.1.0"
                edition = "2021"
                [dependencies]
                tiny = { version = "0.1", registry = "tiny" }

                """, "src/lib.rs": "",
            ])
        var variables = environment
        variables["CARGO_REGISTRIES_TINY_INDEX"] = "sparse+https://\(registries.encrypted)/crates/"
        try scene.run(["-C", package, "cargo", "fetch"], variables)
        #expect(gave("/crates/ti/ny/tiny", "bare") && gave("/crates/download/tiny/0.1.0/download", "bare"))
    }

    @Test(
        .needs(Need("Terraform is not in Debian 12", isDemanded: false, isThere: ProgramScene.has("terraform"))))
    func `terraform gets a module`() throws {
        try setUp("terraform")
        let source = "module \"tiny\" {\n  source = \"\(registries.encrypted)/team/tiny/any\"\n}\n"
        let work = try folder("work", ["main.tf": source])
        try scene.run(["-C", work, "terraform", "init", "-no-color"], environment)
        #expect(scene.home.text(of: "work/.terraform/modules/tiny/main.tf")?.contains("size") == true)
        #expect(registries.requests.contains("GET /terraform/team/tiny/any/0.1.0/download 204 Bearer"))
    }

    @Test(.needs(Need("go", isThere: ProgramScene.has("go"))))
    func `go gets a module`() throws {
        try setUp("go")
        let work = try folder("module", ["go.mod": "module user\n"])
        var variables = environment
        variables["GOPROXY"] = "https://\(registries.encrypted)/go"
        try scene.run(["-C", work, "go", "get", "example.com/tiny@v0.1.0"], variables)
        #expect(gave("/go/example.com/tiny/@v/v0.1.0.zip", "Bearer"))
        #expect(scene.home.text(of: "module/go.mod")?.contains("example.com/tiny v0.1.0") == true)
    }

    @Test(
        .needs(Need("npm of Debian 12 brings 300 packages", isDemanded: false, isThere: ProgramScene.has("npm"))))
    func `npm packs a package`() throws {
        try setUp("npm")
        let work = try folder("npm", ["package.json": "{}"])
        try scene.run(
            [
                "-C", work, "credmgr", "exec", "--type", DemoTenant.typeName, "--env", "NPM_TOKEN", "--", "npm",
                "pack", "--registry", "https://\(registries.encrypted)/npm/", "tiny",
            ], environment)
        #expect(gave("/npm/tiny/-/tiny-0.1.0.tgz", "Bearer"))
    }

    @Test(.needs(Need("skopeo", isThere: ProgramScene.has("skopeo"))))
    func `skopeo and docker read an image`() throws {
        if ProgramScene.has("docker") {
            try setUp("docker")
            let image = "\(registries.encrypted)/tiny:latest"
            let shown = try scene.run(["docker", "manifest", "inspect", image], environment)
            #expect(shown.standardOutput.contains("schemaVersion"))
        } else {
            try scene.home.run(
                [
                    "setup", "docker", "--host", registries.encrypted, "--rule", "--type", DemoTenant.typeName,
                    "--no-verify",
                ])
        }
        let copy = scene.home.path + "/image"
        try scene.run(
            ["skopeo", "copy", "docker://\(registries.encrypted)/tiny:latest", "dir:" + copy], environment)
        #expect(FileManager.default.fileExists(atPath: copy + "/manifest.json"))
        #expect(gave("/v2/tiny/manifests/latest", "Basic"))
    }

    @Test(
        .needs(
            Need(
                "Debian 12's kubectl speaks no v1 of the protocol", isDemanded: false,
                isThere: ProgramScene.has("kubectl"))))
    func `kubectl asks the cluster`() throws {
        let own = """
            apiVersion: v1
            kind: Config
            clusters:
            - cluster:
                server: https://\(registries.encrypted)
              name: c
            contexts:
            - context:
                cluster: c
                user: credmgr-\(DemoTenant.typeName)
              name: x
            current-context: x
            users:
            - name: other
              user:
                token: x

            """
        try scene.home.write(own, to: ".kube/config")
        let words = ["kubectl", "--host", registries.encrypted, "--rule"]
        try scene.setUp(words, environment)
        let reply = try scene.run(["kubectl", "get", "--raw", "/version"], environment)
        #expect(reply.standardOutput.contains("v1.32.0") && gave("/version", "Bearer"))
        #expect(
            try scene.home.run(["setup", "--list"]).standardOutput.contains("kubectl \(DemoTenant.typeName)\t"))
        let undo = ["setup"] + words + ["--type", DemoTenant.typeName, "--undo"]
        try scene.home.run(undo)
        #expect(scene.home.text(of: ".kube/config") == own)
        // kubectl rewrites the file, without comments.
        try scene.setUp(words, environment)
        try scene.run(["kubectl", "config", "set-context", "y", "--cluster=c"], environment)
        #expect(scene.home.text(of: ".kube/config")?.contains(">>>") == false)
        #expect(
            try scene.home.run(["setup", "--list"]).standardOutput.contains("kubectl \(DemoTenant.typeName)\t"))
        try scene.home.run(["setup"] + words + ["--undo"])
        let left = try scene.run(["kubectl", "config", "get-users"], environment)
        #expect(left.standardOutput == "NAME\nother\n")
    }

    @Test func `setup fails if the server gives the program no more access than before`() throws {
        let stranger = try Registries(token: "another")
        let trusting = scene.environment(trusting: stranger.certificate)
        let configuration = scene.home.text(of: "config/credmgr/config.json")
        for program in ["pip", "cargo", "terraform", "bazel", "go", "npm", "docker", "kubectl"]
        where ProgramScene.has(program) || program == "bazel" {
            let words = ["setup", program, "--rule", "--type", DemoTenant.typeName, "--host"]
            let refused = try scene.home.run(words + [stranger.encrypted], environment: trusting, exits: 1)
            #expect(
                refused.standardError.contains("the server rejected")
                    && refused.standardError.contains("reverted the changes"), "\(program)")
        }
        #expect(try scene.home.run(["setup", "--list"]).standardOutput.isEmpty)
        #expect(scene.home.text(of: "config/credmgr/config.json") == configuration)
        // Nobody listens there.
        let silent = try freePort()
        for program in ["pip", "docker", "go", "bazel"] where ProgramScene.has(program) || program == "bazel" {
            let words = [
                "setup", program, "--rule", "--type", DemoTenant.typeName, "--host", "127.0.0.1:\(silent)",
            ]
            try scene.home.run(words, environment: trusting, exits: 1)
        }
    }
}
