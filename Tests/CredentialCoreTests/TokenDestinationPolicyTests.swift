import CredentialCore
import StrictJSON
import Testing

/// The one table of the addresses that tokens go to.
@Suite struct TokenDestinationPolicyTests {
    private static let rules = #"""
        {"rules": [
            {"host": "git.example.com", "type": "Work"},
            {"host": "git.example.com:8443", "type": "Work", "account": "ada"},
            {"host": "localhost", "type": "Work"},
            {"host": "[::1]:9000", "type": "Work"},
            {"host": "Registry.Example.com", "path": "/team/", "type": "Work", "username": "robot"},
            {"host": "mail.example.com", "type": "Work"},
            {"host": "bob.example.com", "account": "bob"}
        ]}
        """#

    private func authority() throws -> TokenDestinationPolicy {
        let members = try #require(try JSONValue.parse(Self.rules).object)
        return TokenDestinationPolicy(rules: try Configuration(json: members, place: "the test").rules) { _, _, _ in
            true
        }
    }

    private func type(_ name: String = "Work") -> AccountType {
        var type = AccountType(name: name, adapter: "oauth2", clientID: "c")
        type.apiBase = "https://api.example.com:444/v1/"
        type.apiOrigins = ["https://files.example.com", "imaps://imap.example.com"]
        return type
    }

    private func account(_ name: String) -> Account {
        var account = Account(
            id: "id-\(name)", type: "Work", adapter: "oauth2",
            registration: ClientIdentity(provider: "https://op.example", clientID: "c"), subject: "s-\(name)",
            store: .file, now: Timestamp(epochSeconds: 0))
        account.username = name
        return account
    }

    private func isGranted(_ address: String, type name: String = "Work", account user: String = "ada") throws
        -> Bool
    {
        guard let destination = URI(address).flatMap(Destination.init) else { return false }
        return try authority().ruling(on: destination, type: type(name), account: account(user)) == .granted
    }

    @Test(arguments: [
        // The addresses that the type names: scheme, host and port, with any path.
        ("https://api.example.com:444/v1/x", true), ("https://api.example.com:444", true),
        ("https://api.example.com/v1/", false), ("https://files.example.com:443/", true),
        ("http://files.example.com/", false), ("imaps://imap.example.com:993", true),
        ("imap://imap.example.com:993", true), ("imap://imap.example.com", false),
        // A rule without a port means the scheme's own.
        ("https://git.example.com/", true), ("https://GIT.example.com:443/a", true),
        ("https://git.example.com:8443", true), ("https://git.example.com:31337/", false),
        ("https://git.example.com:80/", false), ("http://git.example.com/", false),
        ("https://git.example.com.evil.example/", false), ("https://evil.git.example.com/", false),
        // Plain http is for the loopback only.
        ("http://localhost/", true), ("https://localhost/", true), ("http://localhost:8080/", false),
        ("http://[::1]:9000/", true), ("http://[::1]/", false), ("http://127.0.0.1/", false),
        // Below a path, and not beside it.
        ("https://registry.example.com/team/a", true), ("https://registry.example.com/team", true),
        ("https://registry.example.com/teams", false), ("https://registry.example.com/", false),
        ("https://registry.example.com/team/../other", false),
        ("https://registry.example.com/team/%2e%2E/other", false),
        ("https://registry.example.com/team/a%2F..%2fb", false),
        // Mail programs say smtp, and the port whether TLS comes first.
        ("smtp://mail.example.com:587", true), ("smtp://mail.example.com:465", true),
        ("smtps://mail.example.com", true), ("imaps://mail.example.com", true),
        ("smtp://mail.example.com:25", false),
        // Addresses that take no tokens.
        ("ssh://git.example.com/", false), ("ftp://git.example.com/", false), ("https://git.example.com:0/", false),
    ])
    func `a token of an account may go to the destinations of its type or of a rule`(
        _ address: String, _ granted: Bool
    ) throws {
        #expect(try isGranted(address) == granted)
    }

    @Test(arguments: [
        ("https://sts.amazonaws.com/", true), ("https://sts.eu-central-1.amazonaws.com/", true),
        ("https://sts.us-gov-west-1.amazonaws.com:443", true), ("https://sts-fips.us-east-1.amazonaws.com/", true),
        ("https://sts.cn-north-1.amazonaws.com.cn/", true), ("https://STS.amazonaws.com", true),
        ("https://sts.cn-north-1.amazonaws.com/", false), ("https://sts.eu-central-1.amazonaws.com.cn/", false),
        ("http://sts.amazonaws.com/", false), ("https://sts.amazonaws.com:8443/", false),
        ("https://sts.s3.amazonaws.com/", false), ("https://sts.evil.s3.amazonaws.com/", false),
        ("https://sts.eu-central-1.s3.amazonaws.com/", false), ("https://evil.sts.amazonaws.com/", false),
        ("https://sts.amazonaws.com.evil.example/", false), ("https://sts..amazonaws.com/", false),
        ("https://s3.eu-central-1.amazonaws.com/", false), ("http://localhost:4566/", false),
    ])
    func `AWS's own servers need no rule, and similar names do`(
        _ address: String, _ granted: Bool
    ) throws {
        let destination = try #require(URI(address).flatMap(Destination.init))
        let ruling = try authority().ruling(
            on: destination, type: type(), account: account("ada"), for: .awsTokenService)
        #expect((ruling == .granted) == granted)
        // No other address gets a token there.
        #expect(try !isGranted(address))
    }

    @Test func `AWS's address is made of a region, and of nothing else`() {
        #expect(KnownService.awsTokenServiceAddress(region: nil) == "https://sts.amazonaws.com/")
        #expect(
            KnownService.awsTokenServiceAddress(region: "eu-west-1") == "https://sts.eu-west-1.amazonaws.com/")
        #expect(
            KnownService.awsTokenServiceAddress(region: "cn-north-1")
                == "https://sts.cn-north-1.amazonaws.com.cn/")
        for region in ["", "s3", "a-1", "eu-west-1.x", "eu-west-", "-west-1", "EU-WEST-1", "eu-west-100", "eu--1"] {
            #expect(KnownService.awsTokenServiceAddress(region: region) == nil, "\(region)")
        }
    }

    @Test func `a rule that names an account is about that account alone`() throws {
        #expect(try !isGranted("https://git.example.com:8443/", account: "bob"))
        #expect(try isGranted("https://git.example.com/", account: "bob"))
        #expect(try isGranted("https://bob.example.com/", account: "bob"))
        #expect(try !isGranted("https://bob.example.com/", type: "Other", account: "bob"))
        #expect(try !isGranted("https://bob.example.com/", account: "ada"))
        #expect(try !isGranted("https://git.example.com/", type: "Other"))
    }

    @Test(arguments: [
        "localhost:1/.evil.example", "git.example.com/", "git.example.com?x", "git.example.com#x",
        "a@git.example.com",
        "git.example.com\\x", "git.example.com:99999", "git.example.com:0", "git.example.com:", "", " ", "a b",
        "git.example.com\u{0}", "g\u{e9}t.example.com", "[::1", "::1", "%67it.example.com", "git.example.com:44:3",
    ])
    func `an invalid host has no destination`(_ host: String) {
        let destination = Destination(scheme: "https", authority: host)
        // An empty port is that of the scheme (RFC 3986 §3.2.3).
        #expect(host == "git.example.com:" ? destination?.port == 443 : destination == nil)
    }

    @Test func `a rule that fits the host and not the port or the path is told of`() throws {
        func misses(_ address: String) throws -> [String] {
            let destination = try #require(URI(address).flatMap(Destination.init))
            return try authority().nearMisses(of: destination).map(\.description)
        }
        let port = try misses("https://git.example.com:31337/")
        #expect(port.count == 2)
        #expect(port[0].contains("the rule for git.example.com in config.json does not match port 31337"))
        #expect(port[0].contains(#""host": "git.example.com:31337""#))
        #expect(try misses("https://registry.example.com/other")[0].contains("registry.example.com/team"))
        #expect(try misses("https://else.example.com/").isEmpty)
    }

    @Test func `some user names stand for no account`() throws {
        let registry = try #require(Destination(scheme: "https", authority: "registry.example.com", path: "team/x"))
        let authority = try authority()
        for name in [
            "oauth2", "__token__", "oauth2accesstoken", "x-access-token", "x-token-auth", "git", "robot",
        ] {
            #expect(authority.isNobody(name, at: registry), "\(name)")
        }
        for name in ["ada", "root", "", "OAuth2"] { #expect(!authority.isNobody(name, at: registry), "\(name)") }
        #expect(authority.username(beside: type(), at: registry) == "robot")
        let other = try #require(Destination(scheme: "https", authority: "git.example.com"))
        #expect(!authority.isNobody("robot", at: other))
        #expect(authority.username(beside: type(), at: other) == nil)
    }

    @Test(arguments: [
        (#"{"host": "a.example/b", "type": "A"}"#, "'rules[0].host' is not a host name"),
        (#"{"host": "a.example:99999", "type": "A"}"#, "'rules[0].host' is not a host name"),
        (#"{"host": "*", "type": "A"}"#, "'rules[0].host' is not a host name"),
        (#"{"host": "*.example", "type": "A"}"#, "'rules[0].host' is not a host name"),
        (#"{"host": ".example", "type": "A"}"#, "'rules[0].host' is not a host name"),
        (#"{"host": "a..example", "type": "A"}"#, "'rules[0].host' is not a host name"),
        (#"{"host": "-a.example", "type": "A"}"#, "'rules[0].host' is not a host name"),
        (#"{"host": "a.example", "path": "../x", "type": "A"}"#, "'rules[0].path' is not a path"),
        (#"{"host": "a.example", "path": "/", "type": "A"}"#, "'rules[0].path' is not a path"),
        (#"{"directory": "~", "path": "/x", "type": "A"}"#, "'rules[0].path' requires a 'host'"),
    ])
    func `a rule that names no place is refused`(_ rule: String, _ message: String) throws {
        let members = try #require(try JSONValue.parse(#"{"rules": [\#(rule)]}"#).object)
        let error = #expect(throws: CredentialError.self) { try Configuration(json: members, place: "f") }
        #expect(error?.message.contains(message) == true)
    }
}
