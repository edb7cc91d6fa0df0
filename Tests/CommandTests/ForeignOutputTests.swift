import Commands
import CredentialCore
import CryptoSupport
import TestCommands
import Testing

/// The text that servers send, on its way to a terminal or to another program.
@Suite struct ForeignOutputTests {
    private func request(_ response: HTTPResponse, answers: [String]?, _ words: String...) -> CommandScene.Outcome {
        let scene = CommandScene(cryptography: LibCryptography())
        scene.define("Tasks", #""scope": "read", "api_base": "https://api.example.com/""#)
        #expect(scene.signIn("ada").status == 0)
        scene.transport.answer(.success(response))
        return scene.run(["request", "GET", "tasks", "--type", "Tasks"] + words, answers: answers)
    }

    private static let body = "\u{1B}]52;c;cm0=\u{7}a\tb\r\nc\rd\u{9B}31m\u{202E}e\u{2066}é\u{7F}日\u{0}\n"
    private static let shown = "^[]52;c;cm0=^Ga\tb\r\nc^Md<U+009B>31m<U+202E>e<U+2066>é^?日^@\n"

    @Test(arguments: [200, 404])
    func `control characters are escaped on a terminal, also in errors, and unchanged in other output`(status: Int)
    {
        let response = HTTPResponse(
            status: status, headers: [("x-a", "b\u{1B}[2J\u{202E}c")], body: Array(Self.body.utf8))
        let terminal = request(response, answers: [], "--include")
        #expect(terminal.status == (status == 200 ? 0 : 8))
        #expect(terminal.output.hasSuffix("\n\n" + Self.shown), "\(terminal.output.debugDescription)")
        #expect(!terminal.output.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
        #expect(request(response, answers: nil).output == Self.body)
    }

    @Test(arguments: [1, 2, 3, 5])
    func `pieces of any size give the same`(size: Int) throws {
        // The last byte begins a character that never ends; a lone continuation byte is not a character.
        let bytes = Array(Self.body.utf8) + [0x9B, 0xC0, 0xE2, 0x80]
        var filter = TerminalFilter()
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            result += filter.shown(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        result += filter.finish()
        #expect(String(decoding: result, as: UTF8.self) == Self.shown + "<9B><C0><E2><80>")
    }

    @Test func `an event without an end is refused at the limit`() throws {
        var reader = EventStreamReader(limit: 1_000)
        let line = Array("data: 0123456789\n".utf8)
        #expect(try reader.read(line + [0x0A]) == [Array("0123456789".utf8)])
        // One line, and many lines of one event.
        let endless = [UInt8](repeating: 0x61, count: 1_001)
        #expect(throws: CredentialError.self) { _ = try reader.read(endless) }
        reader = EventStreamReader(limit: 1_000)
        var refused: CredentialError?
        do throws(CredentialError) {
            for _ in 0..<200 where try !reader.read(line).isEmpty { Issue.record("an event without its end") }
        } catch {
            refused = error
        }
        #expect(refused?.code == .malformedReply)
        // Events that end may go on for ever.
        reader = EventStreamReader(limit: 1_000)
        for _ in 0..<200 {
            let events = try reader.read(line + [0x0A])
            #expect(events.count == 1)
        }
    }
}
