import CredentialCore
import Foundation
import StrictJSON
import Testing

/// Homes as each version of the layout has left them, `Tests/Fixtures/homes/layout-N`: every later version of the
/// program opens them, or reports their version.
@Suite struct LayoutTests {
    /// A scene with a copy of a home. The modes, which git does not keep, are put right.
    private func scene(layout: Int) throws -> Scene {
        let scene = try Scene()
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Fixtures/homes/layout-\(layout)").path
        let manager = FileManager.default
        for folder in ["data", "config"] {
            try manager.copyItem(atPath: fixture + "/" + folder, toPath: scene.folder.path + "/" + folder)
            let names =
                [""]
                + (manager.enumerator(atPath: scene.folder.path + "/" + folder)?.compactMap { $0 as? String } ?? [])
            for name in names {
                let path = scene.folder.path + "/" + folder + (name.isEmpty ? "" : "/" + name)
                var isFolder: ObjCBool = false
                _ = manager.fileExists(atPath: path, isDirectory: &isFolder)
                try #require(chmod(path, isFolder.boolValue ? 0o700 : 0o600) == 0)
            }
        }
        return scene
    }

    /// The file that says which layout the group has.
    private func format(_ scene: Scene) throws -> String {
        try String(contentsOfFile: scene.groupFolder + "/format", encoding: .utf8)
    }

    @Test(arguments: [1, 2]) func `a layout is opened, with everything in it`(_ layout: Int) throws {
        let scene = try scene(layout: layout)
        let listed = try scene.run(["accounts", "--json"])
        #expect(listed.exitStatus == 0, "\(listed.standardError)")
        let accounts = try JSONValue.parse(Array(listed.standardOutput.utf8)).array?.compactMap(\.object) ?? []
        #expect(accounts.map { $0["username"]?.string } == ["ada@example.com", "bob@example.com"])
        #expect(accounts.map { $0["default"]?.bool } == [true, false])
        for (account, name) in zip(accounts, ["ada", "bob"]) {
            let id = try #require(account["id"]?.string)
            let set = try #require(try scene.tokenSet(id, in: scene.file))
            #expect(set.grants[""]?.refreshToken == Secret("refresh-\(name)"))
            #expect(set.accessTokens.first?.token == Secret("access-\(name)"))
        }
        #expect(
            try scene.run(["which", "--type", "Work", "--explain"]).standardOutput.contains(
                "by the default of the type"))
        // A reader changes no file, and a writer reports its change.
        #expect(try format(scene) == "\(layout)\n")
        #expect(try scene.run(["label", "bob@example.com", "second"]).exitStatus == 0)
        #expect(try format(scene) == "2\n")
        #expect(try scene.run(["accounts", "show", "second"]).standardOutput.contains("bob@example.com"))
        #expect(try scene.run(["logout", "--account", "ada@example.com"]).exitStatus == 0)
        #expect(try scene.accounts().accounts.map(\.label) == ["second"])
    }

    @Test func `a later layout is named, and nothing in it is changed`() throws {
        let scene = try scene(layout: 2), folder = scene.groupFolder
        try Data("3\n".utf8).write(to: URL(fileURLWithPath: folder + "/format"))
        try #require(chmod(folder + "/format", 0o600) == 0)
        func content() throws -> [String: Data] {
            var content: [String: Data] = [:]
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                content[name] = FileManager.default.contents(atPath: folder + "/" + name)
            }
            return content.filter { !$0.key.hasPrefix("locks") }
        }
        let before = try content()
        for words in [
            ["accounts"], ["label", "bob@example.com", "second"], ["logout", "--account", "ada@example.com"],
            ["token", "--account", "ada@example.com"],
        ] {
            let outcome = try scene.run(words)
            #expect(outcome.exitStatus == 2, "\(words)")
            #expect(outcome.standardError.contains("a newer credmgr keeps the accounts of group default (layout 3"))
        }
        #expect(try content() == before)
    }
}
