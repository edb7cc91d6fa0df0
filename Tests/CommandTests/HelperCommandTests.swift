import CredentialCore
import CryptoSupport
import Foundation
import Platform
import StrictJSON
import Synchronization
import TestCommands
import TestPorts
import Testing

/// The ways in which other programs get a token: as a child, in a request, and by the protocols of their helpers.
@Suite struct HelperCommandTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    private func signedIn(_ members: String = #""scope": "read", "api_base": "https://api.example.com/""#) {
        scene.define("Tasks", members)
        #expect(scene.signIn("ada").status == 0)
    }

    @Test func `a command gets the token in its environment and in a file, and its ending is ours`() throws {
        signedIn()
        let seen = Mutex<[String: String]>([:])
        let machine = scene.machine
        scene.programs.install("child") { words, variables in
            let file = variables["CREDMGR_TOKEN_FILE"].flatMap { machine.file($0) }
            seen.withLock {
                $0 = variables.merging(["file": file ?? "", "words": words.joined(separator: " ")]) { $1 }
            }
            return ProcessResult(output: [], exitStatus: 42)
        }
        let outcome = scene.run("exec", "--type", "Tasks", "--", "child", "a", "b")
        #expect(outcome.status == 42)
        #expect(scene.programs.ending == .exited(42))
        let variables = seen.withLock { $0 }
        #expect(variables["ACCESS_TOKEN"] == "access-ada-1")
        #expect(variables["file"] == "access-ada-1\n")
        #expect(variables["words"] == "child a b")
        #expect(scene.programs.removed == [variables["CREDMGR_TOKEN_FILE"]])
    }

    @Test func `without a directory in memory a command gets no file, and does not start if it requires one`()
        throws
    {
        signedIn()
        scene.programs.loseMemory()
        let seen = Mutex<[String: String]?>(nil)
        scene.programs.install("child") { _, variables in
            seen.withLock { $0 = variables }
            return ProcessResult(output: [], exitStatus: 0)
        }
        #expect(scene.run("exec", "--type", "Tasks", "--file-env", "F", "--", "child").status == 5)
        #expect(seen.withLock { $0 } == nil)
        let outcome = scene.run("exec", "--type", "Tasks", "--", "child")
        #expect(outcome.status == 0)
        #expect(outcome.notices.contains("the command runs without CREDMGR_TOKEN_FILE"), "\(outcome.notices)")
        #expect(seen.withLock { $0 } == ["ACCESS_TOKEN": "access-ada-1"])
    }

    @Test func `a program that is not there is found out before a token is asked for`() {
        signedIn()
        #expect(scene.run("exec", "--type", "Tasks", "--", "missing").status == 2)
        #expect(scene.programs.started.isEmpty)
    }

    @Test func `a request carries the token, and one that is refused is tried once more with a new one`() {
        signedIn()
        let challenge = HTTPResponse(status: 401, headers: [("www-authenticate", "Bearer error=\"invalid_token\"")])
        scene.transport.answer(.success(challenge))
        scene.transport.answer(.success(HTTPResponse(status: 200, body: Array("[]".utf8))))
        let outcome = scene.run("request", "GET", "tasks", "--type", "Tasks")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(outcome.output == "[]")
        let sent = scene.transport.requests
        #expect(sent.map(\.address.description) == Array(repeating: "https://api.example.com/tasks", count: 2))
        #expect(
            sent.map { $0.headers.first { $0.name.lowercased() == "authorization" }?.value }
                == ["Bearer access-ada-1", "Bearer access-ada-2"])
    }

    @Test func `a failed refresh is not repeated if the API refuses the token`() {
        signedIn()
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        scene.machine.clock.pass(3_580)
        let challenge = HTTPResponse(status: 401, headers: [("www-authenticate", "Bearer error=\"invalid_token\"")])
        scene.transport.answer(.success(challenge))
        let request = scene.run("request", "GET", "tasks", "--type", "Tasks")
        #expect(request.status == 6 && request.output.isEmpty, "\(request.notices)")
        #expect(scene.transport.requests.count == 1 && scene.machine.provider.refreshes.count == 1)
        let server = "protocol=https\nhost=api.example.com\n"
        let erased = scene.run("git-credential", "erase", input: server + "password=access-ada-1\n\n")
        #expect(erased.status == 6, "\(erased.notices)")
        #expect(scene.machine.provider.refreshes.count == 2)
        // Another one was refused before: the provider is not asked for a new one.
        #expect(scene.run("git-credential", "erase", input: server + "password=another\n\n").status == 0)
    }

    @Test
    func `a remote MCP server is told once with how a token could not be renewed, and gets it while it lives`() {
        signedIn(#""scope": "read", "api_base": "https://api.example.com/mcp""#)
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        scene.machine.clock.pass(3_580)
        let answer = HTTPResponse(
            status: 200, headers: [("content-type", "application/json")], body: Array(#"{"id":1}"#.utf8))
        for _ in 0..<2 { scene.transport.answer(.success(answer)) }
        let challenge = HTTPResponse(status: 401, headers: [("www-authenticate", "Bearer error=\"invalid_token\"")])
        scene.transport.answer(.success(challenge))
        let hello = #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"# + "\n"
        let outcome = scene.run(
            "mcp", "https://api.example.com/mcp", "--type", "Tasks", input: hello + hello + hello)
        #expect(outcome.notices.components(separatedBy: "could not be refreshed").count == 2, "\(outcome.notices)")
        #expect(outcome.output.split(separator: "\n").count == 3 && outcome.output.contains("no reply came"))
        #expect(scene.transport.requests.count == 3)
        // One for the start, and one for each message.
        #expect(scene.machine.provider.refreshes.count == 4)
    }

    @Test func `a remote MCP server gets no request for a user with an ended sign-in`() {
        signedIn(#""scope": "read", "api_base": "https://api.example.com/mcp""#)
        scene.machine.provider.end("ada")
        scene.machine.clock.pass(3_580)
        let outcome = scene.run(
            "mcp", "https://api.example.com/mcp", "--type", "Tasks", "--account", "ada@example.com", input: "")
        #expect(outcome.status == 4 && scene.transport.requests.isEmpty)
        #expect(outcome.notices.contains("hint: credmgr login --account ada@example.com"), "\(outcome.notices)")
    }

    @Test(arguments: ["https://evil.example/", "https://api.example.com:8443/", "http://api.example.com/"])
    func `a token goes to no other origin`(address: String) {
        signedIn()
        let outcome = scene.run("request", "GET", address, "--type", "Tasks")
        #expect(outcome.status == 7, "\(outcome.notices)")
        #expect(scene.transport.requests.isEmpty)
    }

    /// A call of `kubectl` for a cluster with settings of its own, of a type for the resource
    /// `urn:example:cluster`.
    private func cluster(_ settings: String, _ words: String...) -> CommandScene.Outcome {
        let info =
            #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":"#
            + #"{"server":"https://api.example.com/","config":{"type":"Tasks",\#(settings)}}}}"#
        let scene = CommandScene(cryptography: LibCryptography(), environment: ["KUBERNETES_EXEC_INFO": info])
        scene.define(
            "Tasks",
            #""scope": "read write", "api_base": "https://api.example.com/", "resource": "urn:example:cluster", "audience": "a""#
        )
        #expect(scene.signIn("ada").status == 0)
        let outcome = scene.run(["kubernetes"] + words)
        if outcome.status != 0 { #expect(scene.machine.provider.refreshes.isEmpty && outcome.output.isEmpty) }
        return outcome
    }

    @Test func `a cluster with an invalid resource in its settings gets no token`() {
        let refused = cluster(#""resource":"cluster""#)
        #expect(
            refused.status == 2 && refused.notices.contains("'resource' is not an absolute URI"),
            "\(refused.notices)")
    }

    @Test(arguments: [
        #""resource":"urn:example:cluster""#, #""scope":"read""#, #""audience":"a","scope":"write read""#,
    ])
    func `the settings of a cluster may request the scope of the type, or less`(settings: String) {
        let outcome = cluster(settings)
        #expect(outcome.status == 0 && outcome.output.contains("ExecCredential"), "\(outcome.notices)")
    }

    @Test(arguments: [
        (#""resource":"urn:example:other""#, "--resource", "urn:example:other", "resource=urn:example:other"),
        (#""scope":"read admin""#, "--scope", "read admin", "'scope=read write admin'"),
        (#""audience":"b""#, "--audience", "b", "audience=b"),
    ])
    func `the settings of a cluster cannot ask for another API's token, an option can`(
        settings: String, option: String, value: String, key: String
    ) {
        let refused = cluster(settings)
        #expect(refused.status == 7, "\(refused.notices)")
        #expect(refused.notices.contains("credmgr types set Tasks \(key)"), "\(refused.notices)")
        #expect(cluster(settings, option, value).status == 0)
    }

    @Test func `byte order marks of editors are passed over in every file of the user's`() throws {
        let mark = "\u{FEFF}"
        scene.machine.setFile(
            "/memory/types/Tasks.json",
            mark
                + #"{"adapter": "memory", "client_id": "c", "scope": "read", "api_base": "https://api.example.com/"}"#
        )
        scene.machine.setFile(
            "/memory/config.json", mark + #"{"rules": [{"host": "git.example.com", "type": "Tasks"}]}"#)
        #expect(scene.signIn("ada").status == 0)
        let git = scene.run("git-credential", "get", input: "protocol=https\nhost=git.example.com\n\n")
        #expect(git.output.contains("password=access-ada-1\n"), "\(git.notices)")
        scene.machine.setFile("/body.json", mark + #"{"task": "milk"}"#)
        scene.transport.answer(.success(HTTPResponse(status: 200, body: Array("[]".utf8))))
        let sent = scene.run("request", "POST", "tasks", "--type", "Tasks", "--json", "@/body.json")
        #expect(sent.status == 0, "\(sent.notices)")
        guard case .bytes(let body)? = scene.transport.requests.last?.body else {
            Issue.record("no body was sent")
            return
        }
        #expect(String(decoding: body, as: UTF8.self) == #"{"task": "milk"}"#)
        scene.machine.setFile("/data.json", mark + #"{"colour": "red"}"#)
        #expect(scene.run("accounts", "data", "ada", "--set", "@/data.json").status == 0)
        // The mark is no comment, for which the file would be kept.
        let changed = scene.run("types", "set", "Tasks", "scope=read write")
        #expect(changed.status == 0 && !changed.notices.contains(".before"), "\(changed.notices)")
    }

    @Test func `git is given the account of the rule for its host, and nothing for another`() {
        signedIn()
        scene.machine.setFile(
            "/memory/config.json", #"{"rules": [{"host": "git.example.com", "type": "Tasks"}]}"#)
        func ask(_ host: String) -> CommandScene.Outcome {
            scene.run("git-credential", "get", input: "protocol=https\nhost=\(host)\n\n")
        }
        #expect(ask("git.example.com").output.contains("password=access-ada-1\n"))
        #expect(ask("evil.example").output.isEmpty)
        #expect(ask("git.example.com:8443").output.isEmpty)
        let plain = scene.run("git-credential", "get", input: "protocol=http\nhost=git.example.com\n\n")
        #expect(plain.output.isEmpty)
    }

    @Test(arguments: [
        (
            #"{"host": "go.example.com", "type": "Tasks"}"#, "https://go.example.com/team/mod",
            "https://go.example.com"
        ),
        (
            #"{"host": "go.example.com", "path": "team", "type": "Tasks"}"#, "https://go.example.com/team/mod/v2",
            "https://go.example.com/team"
        ),
        (
            #"{"host": "go.example.com:8443", "type": "Tasks"}"#, "https://go.example.com:8443/a/b/",
            "https://go.example.com:8443"
        ),
        (#"{"host": "go.example.com", "type": "Tasks"}"#, "https://go.example.com", "https://go.example.com"),
        // A path that another rule sets apart keeps its own answer.
        (
            #"{"host": "go.example.com", "path": "team", "type": "Other"}, {"host": "go.example.com", "type": "Tasks"}"#,
            "https://go.example.com/public/mod", "https://go.example.com/public"
        ),
        (
            #"{"host": "go.example.com", "path": "a/b", "type": "Tasks"}, {"host": "go.example.com", "path": "a", "type": "Tasks"}"#,
            "https://go.example.com/a/c/d", "https://go.example.com/a/c"
        ),
        (
            #"{"host": "go.example.com", "path": "team", "type": "Tasks", "username": "robot"}, {"host": "go.example.com", "type": "Tasks"}"#,
            "https://go.example.com/team/mod", "https://go.example.com/team"
        ),
    ])
    func `go is answered with the widest prefix that the token is for`(rules: String, url: String, prefix: String) {
        signedIn()
        scene.machine.setFile(
            "/memory/types/Other.json", #"{"adapter": "memory", "client_id": "other", "scope": "read"}"#)
        #expect(scene.signIn("bob", to: "Other").status == 0)
        scene.machine.setFile("/memory/config.json", "{\"rules\": [\(rules)]}")
        let answer = scene.run("goauth", url)
        #expect(answer.status == 0, "\(answer.notices)")
        #expect(answer.output.split(separator: "\n").first.map(String.init) == prefix, "\(answer.output)")
        #expect(answer.output.hasPrefix("\(prefix)\n\nAuthorization: B") && answer.output.hasSuffix("\n\n"))
    }

    @Test func `az takes the options that every command of the Azure CLI takes`() throws {
        signedIn()
        let token = ["az", "account", "get-access-token", "--type", "Tasks"]
        let usual = scene.run(token)
        for more in [
            ["--only-show-errors"], ["--debug"], ["--verbose"], ["--debug", "--only-show-errors"], ["-o", "jsonc"],
        ] {
            let outcome = scene.run(token + more)
            #expect(outcome.status == 0 && outcome.output == usual.output, "\(more): \(outcome.notices)")
            for place in [1, 2] {
                let front = scene.run(Array(token[..<place]) + more + token[place...])
                #expect(front.status == 0 && front.output == usual.output, "\(more): \(front.notices)")
            }
        }
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        scene.machine.clock.pass(3_500)
        #expect(scene.run(token).notices.contains("warning"))
        #expect(scene.run(token + ["--only-show-errors"]).notices.isEmpty)
        let show = ["az", "account", "show", "--type", "Tasks"]
        #expect(scene.run(show + ["--query", "user.name", "-o", "tsv"]).output == "ada@example.com\n")
        #expect(
            scene.run(["az", "account", "list", "--type", "Tasks", "--query", "[].user.name", "-o", "tsv"]).output
                == "ada@example.com\n")
        #expect(
            scene.run(["az", "account", "list", "--type", "Tasks", "--query", "[0].state"]).output
                == "\"Enabled\"\n")
        #expect(scene.run(["az", "version", "--query", "\"azure-cli\"", "-o", "tsv"]).output.hasPrefix("2."))
        let none = scene.run(show + ["--query", "user.nme"])
        #expect(none.status == 2 && none.notices.contains("expected one of name, type"))
        for odd in ["[?isDefault].id", "user.", ".user", "a b", "[x]", "{a:id}", "user[0", "length(@)"] {
            #expect(scene.run(show + ["--query", odd]).status == 2, "\(odd)")
        }
        #expect(
            scene.run(show + ["-o", "yaml", "--query", "user"]).output == "name: ada@example.com\ntype: user\n")
        #expect(
            scene.run(show + ["-o", "table", "--query", "user"]).output
                == "Name             Type\n---------------  ----\nada@example.com  user\n")
        #expect(scene.run(show + ["-o", "none"]).output.isEmpty)
    }

    @Test func `the real keyring answers requests that credmgr cannot answer`() {
        signedIn()
        scene.programs.install("keyring") { words, _ in
            ProcessResult(output: [], exitStatus: words == ["keyring", "get", "https://pypi.example", "u"] ? 5 : 1)
        }
        #expect(scene.run("__keyring", "--", "get", "https://pypi.example", "u").status == 5)
    }
}
