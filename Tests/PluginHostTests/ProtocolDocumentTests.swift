import CredentialCore
import Foundation
import PluginHost
import StrictJSON
import TestSupport
import Testing

/// The examples of `docs/reference/plugin-protocol.md`, fed to the implementation.
@Suite struct ProtocolDocumentTests {
    private struct Example: Sendable, CustomTestStringConvertible {
        let label: String
        let text: String
        var testDescription: String { "\(label): \(text.prefix(60))" }
        var words: [String] { label.split(separator: " ").map(String.init) }
    }

    private static let document =
        (try? String(contentsOfFile: projectFolder + "/docs/reference/plugin-protocol.md", encoding: .utf8)) ?? ""

    /// The blocks that begin with "```json LABEL".
    private static let examples: [Example] = {
        var examples: [Example] = []
        var label: String?
        var lines: [Substring] = []
        for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
            if let open = label {
                if line == "```" {
                    examples.append(Example(label: open, text: lines.joined(separator: "\n")))
                    label = nil
                } else {
                    lines.append(line)
                }
            } else if line.hasPrefix("```json") {
                label = String(line.dropFirst(7).drop { $0 == " " })
                lines = []
            }
        }
        return examples
    }()

    private static func examples(_ kind: String) -> [Example] { examples.filter { $0.words.first == kind } }

    @Test func `there is an example of every message`() {
        let labels = Set(Self.examples.map(\.label))
        for operation in ProviderOperation.allCases { #expect(labels.contains("request \(operation.rawValue)")) }
        for reply in [
            "begin interaction", "begin done", "continue done", "refresh done", "revoke done", "begin error",
        ] {
            #expect(labels.contains("reply \(reply)"), "\(reply)")
        }
        #expect(labels.contains("manifest") && labels.contains("reply describe description"))
        #expect(Self.examples.allSatisfy { ["manifest", "request", "reply"].contains($0.words.first ?? "") })
    }

    @Test(arguments: examples("manifest")) private func `the manifest is accepted`(_ example: Example) throws {
        let manifest = try PluginManifest(Array(example.text.utf8), place: "the document")
        #expect(manifest.name == "example" && !manifest.settings.isEmpty)
    }

    @Test(arguments: examples("reply")) private func `each reply is understood`(_ example: Example) throws {
        // A reply is one line; the document breaks it for reading.
        let lines = try example.text.split(separator: "\n\n").map { try JSONValue.parse(String($0)).text() }
        let operation = example.words[1], kind = example.words[2]
        let home = try PluginHome()
        var plugin = CannedPlugin()
        if operation == "describe" {
            let description = try #require(try JSONValue.parse(lines[0]).object)
            plugin.manifest = [
                "name": "canned", "version": "1.0", "protocol_versions": [1], "summary": "x", "executable": "run",
            ]
            #expect(description["name"] == "example")
            let transcript = PluginTranscript(Array(lines[0].utf8), plugin: "example")
            #expect(try PluginDescription(transcript.reply(version: 1)).name == "example")
            return
        }
        plugin.replies[operation] = lines.joined(separator: "\n")
        try home.install(plugin)
        let adapter = try home.adapter("canned")
        let grant = Grant(flow: .code, obtainedAt: Timestamp(epochSeconds: 1))
        var refreshed: IssuedTokens?
        var step: SignInStep?
        let error = failure { () throws(CredentialError) in
            switch operation {
            case "begin": step = try adapter.begin(.canned(), in: World().context)
            case "continue":
                step = try adapter.resume(.canned(), pending: JSONObject(), with: .poll, in: World().context)
            case "refresh":
                refreshed = try adapter.refresh(
                    RefreshRequest(
                        type: .canned(), key: TokenRequestKey(scope: []), scope: [], grant: grant,
                        subject: "248289761001"), in: World().context)
            default: try adapter.revoke(grant, of: .canned(), in: World().context)
            }
        }
        switch kind {
        case "error": #expect(error != nil && error?.code != .malformedReply)
        case "interaction":
            #expect(error == nil)
            guard case .interaction = step else {
                Issue.record("it is no interaction")
                return
            }
        default:
            #expect(error == nil, "\(error?.message ?? "")")
            #expect(operation != "refresh" || refreshed?.accessToken != nil)
        }
    }

    @Test(arguments: ProviderOperation.allCases)
    func `each request equals the one that the host sends`(_ operation: ProviderOperation) throws {
        let example = try #require(Self.examples("request").first { $0.words.last == operation.rawValue })
        let written = try #require(try JSONValue.parse(example.text).object)
        #expect(written["operation"] == .string(operation.rawValue))
        let home = try PluginHome()
        try home.install(CannedPlugin())
        let adapter = try home.adapter("canned")
        var world = World()
        world.secret = Secret("secret-1")
        var request = SignInRequest.canned()
        request.type.endpoints = [.token: "https://login.example.com/token"]
        request.type.adapterSettings = [:]
        request.loginHint = "ada"
        request.prompt = "login"
        var grant = Grant(flow: .code, obtainedAt: Timestamp(epochSeconds: 1))
        grant.refreshToken = Secret("refresh-1")
        let context = world.context
        _ = failure { () throws(CredentialError) in
            switch operation {
            case .describe, .begin: _ = try adapter.begin(request, in: context)
            case .continue:
                _ = try adapter.resume(
                    request, pending: JSONObject(["state": "s"]), with: .redirect("http://127.0.0.1:1/?code=x"),
                    in: context)
            case .refresh:
                _ = try adapter.refresh(
                    RefreshRequest(
                        type: request.type, key: TokenRequestKey(scope: ["read"]), scope: ["read"], grant: grant,
                        subject: "ada"), in: context)
            case .revoke: try adapter.revoke(grant, of: request.type, in: context)
            }
        }
        let text = try String(contentsOfFile: "\(home.seen)/\(operation.rawValue).request", encoding: .utf8)
        let sent = try #require(try JSONValue.parse(text).object)
        let members = Set(sent.keys.filter { !$0.hasPrefix("x_") })
        #expect(members == Set(written.keys.filter { !$0.hasPrefix("x_") }))
        for name in members where name != "pending" {
            guard let object = sent[name]?.object, let documented = written[name]?.object else { continue }
            let unknown = Set(object.keys).subtracting(documented.keys)
            #expect(unknown.isEmpty, "the document does not show \(name).\(unknown)")
        }
    }

    @Test func `every error code and limit is in the document`() {
        for code in PluginError.Code.allCases { #expect(Self.document.contains("| `\(code.rawValue)` |")) }
        #expect(Self.document.contains("\(PluginProtocol.seconds) seconds"))
        #expect(Self.document.contains("\(PluginProtocol.outputLimit) bytes"))
    }
}
