import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// Tokens for the clouds' own programs.
@Suite struct `Credentials for clouds` {
    private let home: Home
    private let tenant: DemoTenant

    init() throws {
        home = try Home()
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
    }

    private final class TokenService: Sendable {
        let base: String
        private let server: LoopbackServer
        private let seen: Shared
        private final class Shared: Sendable { let bodies = Mutex<[String]>([]) }

        init(_ status: Int, _ answer: String) throws {
            let seen = Shared()
            self.seen = seen
            server = try LoopbackServer { request in
                seen.bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
                return .text(status, answer)
            }
            base = "http://localhost:\(server.port)"
        }

        var bodies: [String] { seen.bodies.withLock { $0 } }
        deinit { server.stop() }
    }

    private static let answer = """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <AssumeRoleWithWebIdentityResult><Credentials><SessionToken>st/1==</SessionToken>
        <SecretAccessKey>sk/1</SecretAccessKey><Expiration>2099-01-02T03:04:05.123Z</Expiration>
        <AccessKeyId>ASIA1</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>
        </AssumeRoleWithWebIdentityResponse>
        """
    private static let role = ["aws", "--role-arn", "arn:aws:iam::123456789012:role/build"]

    /// Lets tokens of the type go to these servers.
    private func allow(_ services: TokenService...) throws {
        let rules = services.map { service in
            #"{"host": "\#(service.base.dropFirst("http://".count))", "type": "\#(DemoTenant.typeName)"}"#
        }
        try home.write(#"{"rules": [\#(rules.joined(separator: ","))]}"#, to: "config/credmgr/config.json")
    }

    @Test func `AWS's tools get credentials of a role, kept until their end`() throws {
        let service = try TokenService(200, Self.answer)
        try allow(service)
        let given = try home.run(Self.role, environment: ["AWS_ENDPOINT_URL_STS": service.base])
        #expect(
            given.standardOutput
                == #"{"Version":1,"AccessKeyId":"ASIA1","SecretAccessKey":"sk/1","SessionToken":"st/1==","Expiration":"2099-01-02T03:04:05Z"}"#
                + "\n")
        let body = try #require(service.bodies.first)
        let idToken = try home.run(["token", "--id-token"]).line
        #expect(body.contains("WebIdentityToken=" + idToken) && body.contains("Action=AssumeRoleWithWebIdentity"))
        #expect(body.contains("RoleSessionName=alice%40example.com"))
        let cached = ["AWS_ENDPOINT_URL": service.base, "CREDMGR_CACHE": "on"]
        let first = try home.run(Self.role, environment: cached), count = service.bodies.count
        #expect(try home.run(Self.role, environment: cached).standardOutput == first.standardOutput)
        #expect(service.bodies.count == count)
        try home.run(["logout", "--all", "--yes"], environment: cached)
        try home.run(Self.role, environment: cached, exits: 3)
    }

    @Test func `The token goes to AWS, or to the destination of a rule; without a rule not even to localhost`()
        throws
    {
        try home.run(["aws"], exits: 2)
        for place in ["https://evil.example", "http://evil.example", "https://sts.amazonaws.com.evil.example/"] {
            try home.run(Self.role, environment: ["AWS_ENDPOINT_URL_STS": place], exits: 7)
        }
        try home.run(Self.role, environment: ["AWS_ENDPOINT_URL_STS": "nonsense"], exits: 2)
        // Below amazonaws.com anybody can have a name, such as that of a bucket.
        for region in ["evil.example/", "evil.s3", "s3", "x-1", "eu-central-1.evil"] {
            try home.run(Self.role, environment: ["AWS_REGION": region], exits: 2)
        }
        let refusing = try TokenService(403, "<Error><Code>AccessDenied</Code><Message>no trust</Message></Error>")
        for variable in ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"] {
            let loopback = try home.run(Self.role, environment: [variable: refusing.base], exits: 7).standardError
            #expect(loopback.contains("is not for \(refusing.base)"))
            #expect(loopback.contains(#"{"host": "localhost:\#(refusing.base.split(separator: ":").last ?? "")""#))
        }
        let other = try TokenService(200, Self.answer)
        try allow(other)
        let miss = try home.run(Self.role, environment: ["AWS_ENDPOINT_URL_STS": refusing.base], exits: 7)
        #expect(miss.standardError.contains("in config.json does not match port"))
        #expect(refusing.bodies.isEmpty, "nothing was sent there")
        try allow(refusing)
        let denied = try home.run(Self.role, environment: ["AWS_ENDPOINT_URL_STS": refusing.base], exits: 7)
        #expect(denied.standardError.contains("no trust"))
        let odd = try TokenService(200, "<html/>")
        try allow(odd)
        try home.run(Self.role, environment: ["AWS_ENDPOINT_URL_STS": odd.base], exits: 1)
    }

    @Test func `Google's libraries accept the output of executable-sourced credentials`() throws {
        let given = try home.json(["google"]).object
        #expect(given?["version"] == 1 && given?["success"] == true)
        #expect(given?["token_type"] == "urn:ietf:params:oauth:token-type:id_token")
        #expect(try given?["id_token"]?.string == home.run(["token", "--id-token"]).line)
        #expect(given?["expiration_time"]?.integer != nil)
        let saml = try ChildProcess(
            Home.program, ["google"],
            environment: home.environment.merging(
                ["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE": "urn:ietf:params:oauth:token-type:saml2"]) { $1 }
        ).run()
        let refusal = try JSONValue.parse(saml.standardOutput).object
        #expect(saml.exitStatus == 2 && refusal?["success"] == false && refusal?["code"] == "unsupported")
    }

    @Test func `The Azure CLI's other commands are answered as HashiCorp's SDK calls them`() throws {
        #expect(try home.json(["az", "version", "-o=json"]).object?["azure-cli"]?.string?.hasPrefix("2.") == true)
        let shown = try home.json(["az", "account", "show", "-o=json"]).object
        #expect(shown?["tenantId"]?.string == DemoTenant.tenant && shown?["state"] == "Enabled")
        #expect(shown?["user"]?.object?["name"]?.string == "alice@example.com")
        // A label is the user's own; the Azure CLI has no labels.
        try home.run(["label", "alice@example.com", "mine"])
        let labelled = try home.json(["az", "account", "show", "-o=json"]).object
        #expect(labelled?["user"]?.object?["name"]?.string == "alice@example.com")
        #expect(try home.json(["az", "account", "list", "-o=json", "--all"]).array?.count == 1)
        let words = ["az", "account", "get-access-token", "-o=json"]
        #expect(try home.json(words + ["--tenant", DemoTenant.tenant]).object?["accessToken"]?.string != nil)
        // Of several types the tenant chooses.
        try home.run(
            [
                "types", "add", "Other", "--adapter", "azure-b2c", "--tenant", "other.onmicrosoft.com",
                "--client-id", "c",
                "--policy", "s=B2C_1_s", "--default-policy", "s",
            ])
        #expect(
            try home.json(words + ["--tenant", DemoTenant.tenant]).object?["tenant"]?.string == DemoTenant.tenant)
        try home.run(words + ["--tenant", "other.onmicrosoft.com"], exits: 3)
    }

    // MARK: exec and files

    @Test func `exec shapes its token, and names its file for programs that read one`() throws {
        let idToken = try home.run(["token", "--id-token"]).line
        let script =
            #"echo "$A"; echo "$CREDMGR_TOKEN_FILE"; echo "$AWS_WEB_IDENTITY_TOKEN_FILE"; od -c "$F" | tail -n 2; cat "$F""#
        let words = ["exec", "--id-token", "--env", "A", "--file-env", "F", "--", "/bin/sh", "-c", script]
        let lines = try home.run(words).standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0] == idToken)
        #expect(lines.last.map(String.init) == idToken)
        let header = try home.run(
            ["exec", "--format", "header", "--min-valid", "60", "--", "/bin/sh", "-c", "echo \"$ACCESS_TOKEN\""])
        #expect(header.line.hasPrefix("Authorization: Bearer "))
        let nested = try home.run(
            [
                "exec", "--env", "A", "--", Home.program, "exec", "--id-token", "--env", "B", "--", "/bin/sh", "-c",
                #"[ "$A" != "$B" ] && echo both"#,
            ])
        #expect(nested.line == "both")
        try home.run(["exec", "--file-env", "1X", "--", "/bin/true"], exits: 2)
    }

    @Test func `A token is written to a private file, and kept valid until stopped`() throws {
        let file = home.path + "/out/token"
        let outcome = try home.run(["token", "--output", file, "--format", "header"])
        #expect(outcome.standardOutput.isEmpty)
        let token = try home.run(["token"]).line
        #expect(home.text(of: "out/token") == "Authorization: Bearer \(token)\n")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        // Also if others could read the file before; credmgr never replaces a path that is not a file.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        try home.run(["token", "--output", file])
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        let pipe = home.path + "/out/pipe"
        try #require(unsafe mkfifo(pipe, 0o666) == 0)
        try home.run(["token", "--output", pipe], exits: 1)
        #expect(try FileManager.default.attributesOfItem(atPath: pipe)[.type] as? FileAttributeType != .typeRegular)
        try home.run(["token", "--keep"], exits: 2)
        // A short-lived token is refreshed in place.
        let provider = try ScriptedProvider {
            $0.token = .json(200, ["access_token": "at-1", "expires_in": 4, "refresh_token": "rt-1"])
        }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
        try provider.signIn(at: home)
        provider.change {
            $0.token = .json(200, ["access_token": "at-2", "expires_in": 3600, "refresh_token": "rt-2"])
        }
        let keeper = try home.start(["token", "--type", "Work", "--output", file, "--keep"])
        defer { keeper.kill() }
        let deadline = ContinuousClock.now + .seconds(60)
        while home.text(of: "out/token") != "at-2\n", ContinuousClock.now < deadline { sched_yield() }
        #expect(home.text(of: "out/token") == "at-2\n" && keeper.isRunning)
    }
}
