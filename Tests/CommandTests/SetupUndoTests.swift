import CredentialCore
import CryptoSupport
import StrictJSON
import TestCommands
import Testing

@testable import Commands

/// `setup --undo` in files that the user has changed since.
@Suite struct SetupUndoTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    private func isStrict(_ text: String) -> Bool { (try? JSONValue.parse(text))?.object != nil }

    // MARK: JSON

    @Test(arguments: ["{\"model\": \"m\"}", "{}"])
    func `JSONMember leaves valid JSON when the user put a member above it`(_ text: String) throws {
        var member = JSONMember(name: "apiKeyHelper", value: "\"credmgr token\"")
        let added = try member.added(to: text)
        member.written = member.value
        #expect(member.removed(from: added) == .init(text: text, isFileOurs: false))
        let moved = "{\n  \"$schema\": \"s\",\n  \"apiKeyHelper\": \"credmgr token\"\n}\n"
        #expect(member.removed(from: moved)?.text == "{\n  \"$schema\": \"s\"\n}\n")
        #expect(try member.removed(from: member.added(to: nil)) == .init(text: "", isFileOurs: true))
        #expect(try member.removed(from: member.added(to: "\n")) == .init(text: "\n", isFileOurs: false))
        #expect(member.removed(from: moved + "}") == nil)
    }

    @Test func `JSONInsertion leaves valid JSON when the user put a member above it`() throws {
        let entry = JSONInsertion(member: "hooks", isArray: true, entry: "{\"a\": 1}", isKnown: true)
        let moved = "{\n  \"model\": \"m\",\n  \"hooks\": [\n    {\"a\": 1}\n  ]\n}\n"
        let rest = try #require(entry.removed(from: moved)?.text)
        #expect(isStrict(rest) && rest == "{\n  \"model\": \"m\"\n}\n")
        let inner = "{\n  \"hooks\": [\n    2,\n    {\"a\": 1}\n  ]\n}\n"
        #expect(entry.removed(from: inner)?.text == "{\n  \"hooks\": [\n    2\n  ]\n}\n")
        #expect(entry.removed(from: moved + "}") == nil)
    }

    @Test func `JSONInsertion keeps the line of a comment when the entry after it goes`() throws {
        let entry = JSONInsertion(member: "r", isArray: true, entry: "2", isKnown: true, isMemberOurs: false)
        for text in ["{\"r\": [1, // one\n 2]\n}", "{\"r\": [1, // one\n 2, 3]\n}"] {
            let rest = try #require(entry.removed(from: text)?.text)
            let left = try JSONValue.parse(Array(rest.utf8), dialect: .commented).object?["r"]?.array
            #expect(left == (text.contains("3") ? [1, 3] : [1]))
        }
    }

    // MARK: The record

    private func record() throws -> SetupManifest {
        try SetupManifest(
            SetupRequest(environment: ["HOME": "/memory/home"], command: "credmgr"), scene.programs)
    }

    @Test func `SetupManifest keeps a file when the user undoes the setup of another one`() throws {
        let entry = JSONInsertion(member: "mounts", isArray: true, entry: "1", isPathChosen: true)
        let edit = SetupEdit.json(entry, path: "/memory/a.json")
        let other = SetupEdit.json(entry, path: "/memory/b.json")
        var record = try record()
        try record.add(edit, for: "devcontainer b", scene.programs)
        try edit.apply(scene.programs)
        #expect(record.known(other, isToBeUndone: true).path == "/memory/b.json")
        #expect(try !record.known(other, isToBeUndone: true).undo(scene.programs, isDry: true))
        let member = JSONMember(name: "apiKeyHelper", value: "1")
        try record.add(.member(member, path: "/memory/c.json"), for: "claude-code A", scene.programs)
        #expect(
            record.known(.member(member, path: "/memory/d.json"), isToBeUndone: true).path == "/memory/d.json")
        #expect(try record.known(edit, isToBeUndone: true).undo(scene.programs, isDry: false))
    }

    @Test func `SetupManifest forgets the setups of an earlier value when a member gets another`() throws {
        func edit(_ value: String) -> SetupEdit {
            .member(JSONMember(name: "apiKeyHelper", value: value), path: "/memory/c.json")
        }
        var record = try record()
        try record.add(edit("1"), for: "claude-code A", scene.programs)
        try record.add(edit("2"), for: "claude-code B", scene.programs)
        try record.add(edit("2"), for: "claude-code B", scene.programs)
        #expect(record.entries.map(\.users) == [["claude-code B"]])
        var older = record
        #expect(older.remove(edit("1"), for: "claude-code A") == ["claude-code B"])
        #expect(record.remove(edit("2"), for: "claude-code B").isEmpty && record.entries.isEmpty)
    }

    // MARK: Terminal

    @Test(arguments: [(String?.none, true), ("1\n", true), ("0\n", false), ("", true)])
    func `TerminalInjection is possible unless the kernel says no`(_ setting: String?, _ isPossible: Bool) throws {
        if let setting {
            try scene.programs.replaceFile(
                TerminalInjection.setting, Array(setting.utf8), isProgram: false, isSecret: false)
        }
        #expect(try TerminalInjection.isPossible(scene.programs) == isPossible)
    }
}
