import CredentialCore
import Foundation
import StrictJSON
import Testing

/// Homes as each version of the layout has left them, `Tests/Fixtures/homes/layout-N`: every later version of the program
/// opens them, or says what they are.
@Suite struct LayoutTests {
    /// A scene with a copy of a home. What git does not keep, modes, is put right.
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

    @Test func `layout 1 is opened, with everything in it`() throws {
        let scene = try scene(layout: 1)
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
        #expect(try scene.run(["label", "bob@example.com", "second"]).exitStatus == 0)
        #expect(try scene.run(["accounts", "show", "second"]).standardOutput.contains("bob@example.com"))
        #expect(try scene.run(["logout", "--account", "ada@example.com"]).exitStatus == 0)
        #expect(try scene.accounts().accounts.map(\.label) == ["second"])
    }
}
