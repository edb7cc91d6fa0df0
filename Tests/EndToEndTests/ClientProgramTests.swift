import Foundation
import TestSupport
import Testing

private let clients = ProgramScene.clients

/// The clouds' own programs doing their real job with a token.
@Suite(
    .needs(Need("moto of PyPI", isThere: ProgramScene.has("moto_server"))))
struct `Cloud programs with a token` {
    private let home: Home
    private let tenant: DemoTenant
    private var environment: [String: String]

    init() throws {
        home = try Home()
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        environment = home.environment
        environment["PATH"] = "\(clients):/usr/bin:/bin"
    }

    @Test func `boto3 takes a role's credentials, and moto knows whose they are`() throws {
        let port = try freePort()
        let moto = Process()
        moto.executableURL = URL(fileURLWithPath: clients + "/moto_server")
        moto.arguments = ["-H", "127.0.0.1", "-p", String(port)]
        moto.environment = environment
        moto.standardOutput = FileHandle.nullDevice
        moto.standardError = FileHandle.nullDevice
        try moto.run()
        defer {
            kill(moto.processIdentifier, SIGKILL)
            moto.waitUntilExit()
        }
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
    }
}
