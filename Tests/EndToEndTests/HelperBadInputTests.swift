import Foundation
import StrictJSON
import TestSupport
import Testing

/// The input that must not mislead any front to another program: each gives its protocol's own empty answer, at
/// once.
@Suite struct `Bad input to the helpers` {
    private let home: Home
    private let tenant: DemoTenant
    private let token: String
    private let idToken: String

    init() throws {
        home = try Home()
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try home.write(
            #"{"rules": [{"host": "own.example.com", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        token = try home.run(["token"]).line
        idToken = try home.run(["token", "--id-token"]).line
    }

    /// One front: the way it is asked about a place and perhaps a user, and its output for no answer.
    struct Front: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The arguments.
        var words: @Sendable (String, String?) -> [String] = { _, _ in [] }
        var input: @Sendable (String, String?) -> String = { _, _ in "" }
        var environment: @Sendable (String) -> [String: String] = { _ in [:] }
        /// Whether it gets a user name.
        var takesUser = false
        /// A place for which it gives something; `nil` for the front that needs a service for that.
        var own: String? = "https://own.example.com/"
        /// Whether these words and this status are its protocol's empty answer.
        let isNothing: @Sendable (String, Int32) -> Bool
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).text() }

    private static let fronts: [Front] = [
        Front(
            testDescription: "git", words: { _, _ in ["git-credential", "get"] },
            input: { "protocol=https\nhost=\($0)\n" + ($1.map { "username=\($0)\n" } ?? "") + "\n" },
            takesUser: true, own: "own.example.com",
            isNothing: { output, status in output.isEmpty && status <= 2 }),
        Front(
            testDescription: "mail by git's protocol", words: { _, _ in ["git-credential", "get"] },
            input: { "protocol=imaps\nhost=\($0)\n" + ($1.map { "username=\($0)\n" } ?? "") + "\n" },
            takesUser: true, own: "own.example.com",
            isNothing: { output, status in output.isEmpty && status <= 2 }),
        Front(
            testDescription: "docker", words: { _, _ in ["docker-credential", "get"] },
            input: { place, _ in place }, own: "own.example.com",
            isNothing: { output, status in
                // docker has every message on standard output.
                output == "credentials not found in native keychain\n" && status == 3 || status == 2
            }),
        Front(
            testDescription: "keyring", words: { ["keyring", "get", "--", $0] + ($1.map { [$0] } ?? []) },
            takesUser: true, isNothing: { output, status in output.isEmpty && (1...2).contains(status) }),
        Front(
            testDescription: "cargo", words: { _, _ in ["cargo"] },
            input: { place, _ in
                #"{"v":1,"registry":{"index-url":\#(quoted(place))},"kind":"get","operation":"read","args":[]}"#
                    + "\n"
            }, own: "sparse+https://own.example.com/",
            isNothing: { output, _ in
                output.split(separator: "\n").dropFirst().allSatisfy { $0.contains(#""Err""#) }
            }),
        Front(
            testDescription: "terraform", words: { place, _ in ["terraform", "get", "--", place] },
            own: "own.example.com",
            isNothing: { output, status in output == "{}\n" && status == 0 || output.isEmpty && status == 2 }),
        Front(
            testDescription: "bazel", words: { _, _ in ["bazel", "get"] },
            input: { place, _ in #"{"uri":\#(quoted(place))}"# },
            isNothing: { output, status in
                status == 0 && output.contains(#""headers":{}"#) || output.isEmpty && status == 2
            }),
        Front(
            testDescription: "go", words: { place, _ in ["goauth", "--", place] },
            isNothing: { output, status in output.isEmpty && status <= 2 }),
        Front(
            testDescription: "kubernetes", words: { _, _ in ["kubernetes"] },
            environment: { place in
                let cluster = #"{"server":\#(quoted(place)),"config":null}"#
                return [
                    "KUBERNETES_EXEC_INFO":
                        #"{"apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":\#(cluster)}}"#
                ]
            }, isNothing: { output, status in output.isEmpty && (status == 7 || status == 2) }),
        Front(
            testDescription: "aws", words: { _, _ in ["aws", "--role-arn", "arn:aws:iam::1:role/x"] },
            environment: { ["AWS_ENDPOINT_URL_STS": $0.isEmpty ? "x" : $0] }, own: nil,
            isNothing: { output, status in output.isEmpty && (status == 7 || status == 2) }),
        Front(
            testDescription: "google", words: { _, _ in ["google"] },
            // It gets no place: Google's libraries give it the kind of token.
            environment: { ["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE": $0] },
            own: "urn:ietf:params:oauth:token-type:id_token",
            isNothing: { output, status in
                output.hasPrefix(#"{"version":1,"success":false,"#) && status == 2
            }),
        Front(
            testDescription: "az",
            words: { place, _ in ["az", "account", "get-access-token", "--tenant=\(place)"] },
            own: DemoTenant.tenant,
            isNothing: { output, status in output.isEmpty && (2...3).contains(status) }),
        Front(
            testDescription: "oidc-token", words: { place, _ in ["oidc-token", "--", place] },
            own: DemoTenant.typeName,
            isNothing: { output, status in output.isEmpty && (2...3).contains(status) }),
    ]

    /// Servers that no setting names, and words that are not servers.
    private static let places = [
        "evil.example", "https://evil.example/simple/", "https://own.example.com:8443/", "http://own.example.com/",
        "https://own.example.com@evil.example/", "https://evil.example/?https://own.example.com/",
        "own.example.com.evil.example", "sparse+https://evil.example/", "https://", "://", " ", "a b", "-x",
        "../../etc",
        "file:///etc/passwd", "https://[::1", "https://own.example.com:99999/", "https://ówn.example.com/",
        "own.example.com\nhost=evil.example", "https://own.example.com\r\nevil.example", "\u{7F}\u{1B}[2J",
        String(repeating: "x", count: 100_000), "https://" + String(repeating: "a.", count: 40_000) + "example/",
    ]

    private func ask(
        _ front: Front, _ place: String, _ user: String?, _ more: [String: String] = [:]
    ) throws -> ChildProcess.Outcome {
        try ChildProcess(
            Home.program, front.words(place, user),
            environment: home.environment.merging(front.environment(place)) { $1 }.merging(more) { $1 }
        ).run(input: front.input(place, user), seconds: 60)
    }

    private func holdsToken(_ outcome: ChildProcess.Outcome) -> Bool {
        let printed = outcome.standardOutput + outcome.standardError
        return printed.contains(token) || printed.contains(idToken)
    }

    @Test(arguments: fronts.filter { $0.own != nil })
    func `its own destination gets a token, and another account's name does not`(_ front: Front) throws {
        let own = try #require(front.own), given = try ask(front, own, nil)
        #expect(
            holdsToken(given) && !front.isNothing(given.standardOutput, given.exitStatus), "\(given.standardError)")
        for name in ["bob@example.com", "alice@example.com\nx", "\u{1B}[2J", String(repeating: "u", count: 50_000)]
        {
            let outcome = try ask(front, own, nil, ["CREDMGR_ACCOUNT": name])
            #expect(
                !holdsToken(outcome) && outcome.exitStatus < 128, "\(name.prefix(40)): \(outcome.standardError)")
            #expect(!outcome.standardError.contains("\u{1B}"))
        }
        // A name in the address.
        guard own.contains("own.example.com") else { return }
        let outcome = try ask(front, own.replacing("own.", with: "bob@own."), nil)
        #expect(!holdsToken(outcome), "\(outcome.standardError)")
    }

    /// Input that is no message of any protocol.
    private static let messages = [
        "", "\u{0}", "\u{0}\u{0}\n\n", "=", "=\n\n", "host", "host=own.example.com", "\n\n\n", "{", "[]", "null",
        "{}",
        #"{"uri":1}"#, #"{"v":1,"registry":1}"#, "own.example.com\u{0}", "own.example.com\u{0}.evil.example",
        #"{"uri":"https://own.example.com\u0000.evil.example/"}"#,
        #"{"uri":"https://own.example.com\n.evil.example/"}"#,
        #"{"apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":1}}"#,
        "protocol=https\nhost=own.example.com\u{0}\n\n",
        "protocol=https\nhost=own.example.com\nhost=evil.example\n\n",
        String(repeating: "[", count: 200_000), "host=" + String(repeating: "h", count: 2 << 20) + "\n\n",
        String(repeating: "a=b\n", count: 100_000),
    ]

    @Test(arguments: fronts)
    func `an invalid message gets no answer, at once`(_ front: Front) throws {
        let reads = !front.input("x", nil).isEmpty
        // A word or a variable holds no NUL, and no more than the kernel takes. Without a word there is no
        // question.
        let messages = reads ? Self.messages : Self.messages.filter { !$0.isEmpty && !$0.contains("\u{0}") }
        for message in messages {
            let raw = reads ? message : String(message.prefix(100_000))
            var environment = home.environment.merging(front.environment(raw)) { $1 }
            if front.testDescription == "kubernetes" { environment["KUBERNETES_EXEC_INFO"] = raw }
            let outcome = try ChildProcess(Home.program, front.words(raw, nil), environment: environment)
                .run(input: reads ? raw : "", seconds: 60)
            let shown = Comment(
                rawValue: "\(message.debugDescription.prefix(40)): \(outcome.standardError.prefix(300))")
            #expect(outcome.exitStatus < 128 && !holdsToken(outcome), shown)
        }
        #expect(try home.run(["token"]).line == token)
    }

    @Test(arguments: fronts)
    func `a place that nothing names gets nothing`(_ front: Front) throws {
        for place in Self.places {
            let outcome = try ask(front, place, nil)
            let shown = Comment(
                rawValue: "\(place.debugDescription.prefix(60)): \(outcome.exitStatus) \(outcome.standardError)")
            #expect(front.isNothing(outcome.standardOutput, outcome.exitStatus), shown)
            #expect(!outcome.standardOutput.contains(token) && outcome.exitStatus < 128, shown)
            #expect(!outcome.standardError.contains("\u{1B}"), shown)
        }
    }

    @Test(arguments: fronts.filter(\.takesUser))
    func `another user's name gets nothing`(_ front: Front) throws {
        for user in ["bob@example.com", "alice", "x\u{1B}[2J", "-v", String(repeating: "u", count: 50_000)] {
            let outcome = try ask(front, "own.example.com", user)
            #expect(front.isNothing(outcome.standardOutput, outcome.exitStatus), "\(user.prefix(40))")
        }
    }

    @Test(arguments: [
        ["docker-credential", "store"], ["docker-credential", "erase"], ["git-credential", "store"],
        ["git-credential", "erase"], ["terraform", "store", "own.example.com"],
        ["terraform", "forget", "own.example.com"],
    ])
    func `store and erase requests keep the sign-in, for every input`(_ words: [String]) throws {
        for input in Self.messages {
            let outcome = try ChildProcess(Home.program, words, environment: home.environment).run(input: input)
            let shown = Comment(
                rawValue: "\(input.debugDescription.prefix(40)): \(outcome.standardError.prefix(300))")
            #expect(outcome.exitStatus < 128 && !holdsToken(outcome), shown)
        }
        #expect(try home.run(["token"]).line == token)
    }
}
