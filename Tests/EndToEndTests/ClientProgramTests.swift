import Foundation
import TestSupport
import Testing

private let clients = ProgramScene.clients

/// The clouds' own programs doing their real job with a token.
@Suite(
    .needs(Need("moto of PyPI", isThere: ProgramScene.has("moto_server"))))
struct `Cloud programs with a token` {
    private let scene: ProgramScene
    private var home: Home { scene.home }
    private let environment: [String: String]

    init() throws {
        scene = try ProgramScene()
        environment = scene.environment()
    }

    @Test func `boto3 accepts a role's credentials, and moto knows their owner`() throws {
        let port = try freePort()
        let moto = try ChildProcess(
            clients + "/moto_server", ["-H", "127.0.0.1", "-p", String(port)], environment: environment
        ).start()
        defer { moto.kill() }
        let script = """
            import boto3, time, urllib.request
            deadline = time.monotonic() + 90
            while True:
                try:
                    urllib.request.urlopen("http://127.0.0.1:\(port)/moto-api/", timeout=5).read()
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise
            session = boto3.Session(profile_name="credmgr", region_name="eu-west-1")
            print(session.client("sts").get_caller_identity()["Arn"])
            """
        var variables = environment
        variables["AWS_ENDPOINT_URL"] = "http://127.0.0.1:\(port)"
        variables["AWS_EC2_METADATA_DISABLED"] = "true"
        // The loopback is no exception: a rule says that this server may have the token.
        try home.write(
            #"{"rules": [{"host": "127.0.0.1:\#(port)", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        try home.run(
            [
                "setup", "aws", "--type", DemoTenant.typeName, "--role-arn", "arn:aws:iam::123456789012:role/build",
                "--no-verify",
            ])
        let outcome = try ChildProcess(clients + "/python3", ["-c", script], environment: variables)
            .run(seconds: 150)
        #expect(
            outcome.line == "arn:aws:sts::123456789012:assumed-role/build/alice@example.com",
            "\(outcome.standardError)")
        ProgramVersion.tell("boto3", environment)
        ProgramVersion.tell("moto", environment)
    }

    @Test func `google-auth runs the executable of the credential file`() throws {
        try home.run(
            ["setup", "google", "--type", DemoTenant.typeName, "--audience", "//iam.googleapis.com/projects/1/p"])
        let script = """
            import google.auth, google.auth.transport.requests
            credentials, _ = google.auth.load_credentials_from_file(
                "\(home.path)/config/credmgr/google-\(DemoTenant.typeName).json")
            print(credentials.retrieve_subject_token(google.auth.transport.requests.Request()))
            """
        var variables = environment
        variables["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1"
        let outcome = try ChildProcess(clients + "/python3", ["-c", script], environment: variables)
            .run(seconds: 120)
        #expect(try outcome.line == home.run(["token", "--id-token"]).line, "\(outcome.standardError)")
        ProgramVersion.tell("google-auth", environment)
    }

    @Test func `azure-identity asks the command that setup writes`() throws {
        // A provider that gives scopes as Entra does.
        let provider = try ScriptedProvider()
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
        try provider.signIn(at: home)
        provider.change {
            $0.token = .json(200, ["access_token": "at-2", "expires_in": 3600, "refresh_token": "rt-2"])
        }
        try home.run(["setup", "azure", "--type", "Work", "--no-verify"])
        var variables = environment
        variables["PATH"] = "\(home.path)/data/credmgr/links:" + (variables["PATH"] ?? "")
        let script = """
            from azure.identity import AzureCliCredential
            print(AzureCliCredential().get_token("https://api.example.com/.default").token)
            """
        let outcome = try ChildProcess(clients + "/python3", ["-c", script], environment: variables)
            .run(seconds: 120)
        #expect(outcome.line == "at-2", "\(outcome.standardError)")
        #expect(provider.forms.last?["scope"] == "https://api.example.com/.default")
        ProgramVersion.tell("azure-identity", environment)
    }
}
