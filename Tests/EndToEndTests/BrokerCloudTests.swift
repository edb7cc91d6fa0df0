import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// The clouds' own SDKs in a sandbox without network, which has the small program and the directory of a broker's
/// socket.
@Suite(
    .serialized, .needs(.program("bwrap")), .needs(Need("moto of PyPI", isThere: ProgramScene.has("moto_server"))))
final class BrokerCloudTests {
    private static let python = ProgramScene.clients + "/python3"
    private static let role = "arn:aws:iam::123456789012:role/build"
    private let scene: ProgramScene
    private let provider: ScriptedProvider
    private let installation: Installation
    private var server: RunningProcess?
    private var home: Home { scene.home }
    private var socket: String { (home.environment["XDG_RUNTIME_DIR"] ?? "") + "/credmgr-brokers/box/sock" }

    init() throws {
        scene = try ProgramScene()
        installation = try Installation()
        provider = try ScriptedProvider {
            $0.token = .json(200, ["access_token": "at-1", "expires_in": 3600, "refresh_token": "rt-1"])
        }
        try home.run(
            [
                "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope",
                "https://api.example.com/.default",
            ])
        try provider.signIn(at: home)
        try home.write(
            """
            {"entries": [
              {"name": "demo", "type": "\(DemoTenant.typeName)", "release": "id_token"},
              {"name": "work", "type": "Work", "release": "token"}],
             "ask": "never",
             "clouds": {"gce": {"entry": "demo", "project": "project-1"}, "azure": {"entry": "work"},
                        "aws": {"entry": "demo", "role_arn": "\(Self.role)"}, "actions": {"entry": "demo"}}}
            """, to: "config/credmgr/brokers/box.json")
    }

    deinit { server?.kill() }

    /// Serves the broker, and waits for at most 60 s until its socket is there.
    private func serve(_ variables: [String: String] = [:]) throws {
        server = try home.start(["broker", "serve", "box"], variables)
        let deadline = ContinuousClock.now + .seconds(60)
        while !FileManager.default.fileExists(atPath: socket), ContinuousClock.now < deadline { sched_yield() }
        try #require(FileManager.default.fileExists(atPath: socket), "the broker listens within 60 s")
    }

    /// Runs a Python script in the sandbox, beside the relay.
    private func inSandbox(_ script: String, _ arguments: [String] = []) throws -> ChildProcess.Outcome {
        let clients = String(ProgramScene.clients.dropLast("/bin".count))
        // The environment's python3 may be a link to another prefix.
        let interpreter = URL(fileURLWithPath: Self.python).resolvingSymlinksInPath().deletingLastPathComponent()
        let prefix = interpreter.deletingLastPathComponent().path
        let sandbox =
            [
                "--unshare-all", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp",
                // google-auth waits for 3 s only, which is short for a first refresh on a busy machine.
                "--setenv", "GCE_METADATA_TIMEOUT", "60",
                "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
                "--symlink", "usr/lib64", "/lib64", "--ro-bind", clients, clients, "--ro-bind", prefix, prefix,
                "--proc", "/proc", "--dev",
                "/dev",
                "--tmpfs", "/tmp", "--ro-bind", installation.small, "/credmgr", "--ro-bind",
                String(socket.dropLast("/sock".count)), "/run/credmgr",
            ] + ["/credmgr", "relay", "--", Self.python, "-c", script] + arguments
        return try ChildProcess("bwrap", sandbox, environment: ["PATH": "/usr/bin:/bin"]).run(seconds: 150)
    }

    /// The ID token's audience.
    private func audience() throws -> String {
        let token = try home.run(["token", "--type", DemoTenant.typeName, "--id-token"]).line
        let claims = try home.json(["claims", "--type", DemoTenant.typeName, "--json"]).object
        return try #require(claims?["aud"]?.string ?? Self.claim("aud", of: token))
    }

    private static func claim(_ name: String, of token: String) -> String? {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { return nil }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text).flatMap { try? JSONValue.parse(Array($0)) }?.object?[name]?.string
    }

    @Test func `google-auth gets tokens when the sandbox has no network`() throws {
        try serve()
        let script = """
            import google.auth, google.auth.transport.requests, google.oauth2.id_token, sys
            request = google.auth.transport.requests.Request()
            credentials, project = google.auth.default()
            credentials.refresh(request)
            print(credentials.token, project, credentials.service_account_email, credentials.valid)
            print(google.oauth2.id_token.fetch_id_token(request, sys.argv[1]))
            try:
                google.oauth2.id_token.fetch_id_token(request, "other")
            except Exception as error:
                print("refused", "id_token" in str(error))
            """
        let outcome = try inSandbox(script, [try audience()])
        let idToken = try home.run(["token", "--type", DemoTenant.typeName, "--id-token"]).line
        let token = try home.run(["token", "--type", DemoTenant.typeName]).line
        #expect(
            outcome.standardOutput.split(separator: "\n").map(String.init) == [
                "\(token) project-1 alice@example.com True", idToken, "refused True",
            ], "\(outcome.standardError)")
        ProgramVersion.tell("google-auth", scene.environment())
    }

    @Test func `azure-identity and Actions' request get tokens when the sandbox has no network`() throws {
        try serve()
        let script = """
            import json, os, sys, urllib.request
            from azure.identity import ManagedIdentityCredential
            credential = ManagedIdentityCredential()
            print(credential.get_token("https://api.example.com/.default").token)
            try:
                credential.get_token("https://other.example.com/.default")
            except Exception as error:
                print("refused", "invalid_scope" in str(error))
            url = os.environ["ACTIONS_ID_TOKEN_REQUEST_URL"] + "&audience=" + sys.argv[1]
            secret = os.environ["ACTIONS_ID_TOKEN_REQUEST_TOKEN"]
            request = urllib.request.Request(url, headers={"Authorization": "bearer " + secret})
            print(json.load(urllib.request.urlopen(request))["value"])
            request = urllib.request.Request(url, headers={"Authorization": "bearer x" + secret})
            try:
                urllib.request.urlopen(request)
            except urllib.error.HTTPError as error:
                print(error.code)
            """
        let outcome = try inSandbox(script, [try audience()])
        let idToken = try home.run(["token", "--type", DemoTenant.typeName, "--id-token"]).line
        let token = try home.run(["token", "--type", "Work"]).line
        #expect(
            outcome.standardOutput.split(separator: "\n").map(String.init) == [
                token, "refused True", idToken, "401",
            ], "\(outcome.standardError)")
        ProgramVersion.tell("azure-identity", scene.environment())
    }

    @Test func `boto3 gets a role's credentials, and moto knows their owner`() throws {
        let port = try freePort()
        let moto = try ChildProcess(
            ProgramScene.clients + "/moto_server", ["-H", "127.0.0.1", "-p", String(port)],
            environment: scene.environment()
        ).start()
        defer { moto.kill() }
        try home.write(
            #"{"rules": [{"host": "127.0.0.1:\#(port)", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        let endpoint = ["AWS_ENDPOINT_URL_STS": "http://127.0.0.1:\(port)"]
        let wait = """
            import time, urllib.request
            deadline = time.monotonic() + 90
            while True:
                try:
                    urllib.request.urlopen("http://127.0.0.1:\(port)/moto-api/", timeout=5).read()
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise
            """
        #expect(try ChildProcess(Self.python, ["-c", wait]).run(seconds: 120).exitStatus == 0, "moto listens")
        try serve(endpoint)
        let script = """
            import boto3
            credentials = boto3.Session(region_name="eu-west-1").get_credentials()
            print(credentials.method, credentials.access_key[:4], len(credentials.token) > 20)
            """
        let outcome = try inSandbox(script)
        #expect(outcome.line == "container-role ASIA True", "\(outcome.standardError)")
        // On the host's network the same credentials open the double of AWS.
        let identity = """
            import boto3
            client = boto3.client("sts", region_name="eu-west-1", endpoint_url="http://127.0.0.1:\(port)")
            print(client.get_caller_identity()["Arn"])
            """
        var variables = scene.environment().merging(endpoint) { $1 }
        variables["AWS_EC2_METADATA_DISABLED"] = "true"
        let direct = try ChildProcess(
            installation.small, ["exec", "--broker", "box", "--relay", "--", Self.python, "-c", identity],
            environment: variables
        ).run(seconds: 150)
        #expect(
            direct.line == "arn:aws:sts::123456789012:assumed-role/build/alice@example.com",
            "\(direct.standardError)")
        ProgramVersion.tell("boto3", scene.environment())
    }

    // MARK: The relay

    /// Runs a command beside a relay on the host; `$PORT` is the relay's.
    private func relay(_ program: String, _ options: [String] = [], _ script: String) throws -> ChildProcess.Outcome
    {
        try ChildProcess(
            program,
            ["relay", "--socket", socket] + options
                + ["--", "/bin/sh", "-c", "PORT=${GCE_METADATA_HOST#*:}; " + script],
            environment: ["PATH": "/usr/bin:/bin"]
        ).run(seconds: 120)
    }

    private static let project =
        "curl -s -H 'Metadata-Flavor: Google' http://127.0.0.1:$PORT/computeMetadata/v1/project/project-id"

    @Test func `A relay goes on when its programs break off their connections`() throws {
        try serve()
        let breaking = """
            import socket, struct, sys
            place = ("127.0.0.1", int(sys.argv[1]))
            socket.create_connection(place).close()
            half = socket.create_connection(place)
            half.sendall(b"GET / HTTP/1.1\\r\\n")
            half.shutdown(socket.SHUT_WR)
            reset = socket.create_connection(place)
            reset.sendall(b"GET / HTTP/1.1\\r\\nMetadata-Flavor: Google\\r\\n\\r\\n")
            reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            reset.close()
            print(len(half.recv(100)))
            """
        for program in [installation.small, Home.program] {
            let outcome = try relay(
                program, [], "\(Self.python) -c '\(breaking)' $PORT; \(Self.project); exit 9")
            #expect(outcome.standardOutput == "0\nproject-1", "\(outcome.standardError)")
            #expect(outcome.exitStatus == 9)
        }
    }

    @Test func `A relay keeps token files while its command runs, and ends as that does`() throws {
        try serve()
        let file = home.path + "/token"
        let token = try home.run(["token", "--type", "Work"]).line
        for program in [installation.small, Home.program] {
            let outcome = try relay(
                program, ["--file", "work=" + file], "stat -c %a '\(file)'; cat '\(file)'; kill -TERM $$")
            #expect(outcome.standardOutput == "600\n" + token, "\(outcome.standardError)")
            #expect(outcome.exitStatus == 128 + SIGTERM || outcome.exitStatus == SIGTERM)
            #expect(!FileManager.default.fileExists(atPath: file))
            let refused = try relay(program, ["--file", "nobody=" + file], "echo started")
            #expect(refused.exitStatus == 7 && refused.standardOutput.isEmpty)
            #expect(refused.standardError.contains("not_in_broker"))
        }
    }

    @Test func `A relay outlives its broker`() throws {
        try serve()
        let process = try #require(server).id
        let outcome = try relay(
            installation.small, [],
            "\(Self.project); kill \(process); while [ -e '\(socket)' ]; do :; done; "
                + "\(Self.project); exit 5")
        #expect(outcome.standardOutput == "project-1" && outcome.exitStatus == 5, "\(outcome.standardError)")
        #expect(outcome.standardError.contains("credmgr: warning: cannot connect to the socket"))
    }

    @Test func `A relay sets the loopback interface up when it may`() throws {
        try serve()
        let outcome = try ChildProcess(
            "unshare",
            [
                "--net", "--map-root-user", installation.small, "relay", "--socket", socket, "--", "/bin/sh", "-c",
                "PORT=${GCE_METADATA_HOST#*:}; " + Self.project,
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).run(seconds: 60)
        #expect(outcome.standardOutput == "project-1", "\(outcome.standardError)")
    }

    @Test func `A relay refuses other users' programs on the host's network`() throws {
        try #require(geteuid() == 0, "root, who can become somebody else")
        try serve()
        let outcome = try relay(
            installation.small, [],
            "\(Self.project); setpriv --reuid 65534 --clear-groups \(Self.project) || echo ' refused'")
        #expect(outcome.standardOutput == "project-1 refused\n", "\(outcome.standardError)")
    }
}
