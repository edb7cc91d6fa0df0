import CredentialCore
import Foundation
import PluginHost
import StrictJSON
import TestSupport
import Testing

@Suite struct ProviderCatalogTests {
    private func reason(_ home: PluginHome, _ name: String = "canned", reserved: [String] = ["oauth2"]) -> String? {
        guard let entry = home.catalog(reserved: reserved).entries().first(where: { $0.name == name }),
            case .refused(let error) = entry.state
        else { return nil }
        return error.message
    }

    @Test func `a plugin in good hands is found and can be used`() throws {
        let home = try PluginHome()
        try home.install(CannedPlugin())
        let entries = home.catalog().entries()
        #expect(entries.map(\.name) == ["canned"])
        guard case .available(let provider) = entries[0].state else {
            Issue.record("it is refused: \(reason(home) ?? "")")
            return
        }
        #expect(provider.manifest.flows == [.code, .device])
        #expect(provider.program == "\(home.providers)/canned/run")
        #expect(try home.catalog().adapter(named: "canned")?.summary == "a plugin of a test")
        #expect(try home.catalog().adapter(named: "other") == nil)
    }

    @Test(arguments: [
        ("", 0o775), ("/manifest.json", 0o666), ("/run", 0o777), ("/..", 0o777),
    ])
    func `a plugin that other users can write is refused`(_ part: String, _ mode: Int) throws {
        let home = try PluginHome()
        let folder = try home.install(CannedPlugin())
        // Group writing counts as others' unless the group is the user's private one.
        let isShared = mode == 0o775
        // Only root can give a file to a group that others are in.
        if isShared, try !Need.root.isMet() { return }
        chown(folder + part, getuid(), isShared ? 12 : getgid())
        chmod(folder + part, mode_t(mode))
        let name = part == "/.." ? "*" : "canned"
        #expect(reason(home, name)?.contains("other users can write") == true)
        #expect(
            code { () throws(CredentialError) in _ = try home.catalog().adapter(named: "canned") } == .configuration
        )
    }

    @Test(.needs(.root), arguments: ["", "/manifest.json", "/run"])
    func `a plugin that belongs to another user is refused`(_ part: String) throws {
        let home = try PluginHome()
        let folder = try home.install(CannedPlugin())
        chown(folder + part, 12345, 12345)
        #expect(reason(home)?.contains("belongs to another user") == true)
    }

    @Test(arguments: ["/manifest.json", "/run"])
    func `a symbolic link in the folder is refused`(_ part: String) throws {
        let home = try PluginHome()
        let folder = try home.install(CannedPlugin())
        let away = home.base + "/away"
        try FileManager.default.moveItem(atPath: folder + part, toPath: away)
        try FileManager.default.createSymbolicLink(atPath: folder + part, withDestinationPath: away)
        #expect(reason(home)?.contains("is a symbolic link") == true)
    }

    @Test func `if the data directory is the user's own symbolic link, its plugins are found`() throws {
        let home = try PluginHome()
        try home.install(CannedPlugin())
        try FileManager.default.moveItem(atPath: home.base + "/credmgr", toPath: home.base + "/away")
        try FileManager.default.createSymbolicLink(
            atPath: home.base + "/credmgr", withDestinationPath: home.base + "/away")
        #expect(reason(home) == nil)
        chmod(home.base + "/away", 0o777)
        #expect(reason(home, "*")?.contains("other users can write") == true)
    }

    @Test func `a folder that is a symbolic link is refused`() throws {
        let home = try PluginHome()
        let folder = try home.install(CannedPlugin())
        try FileManager.default.moveItem(atPath: folder, toPath: home.base + "/away")
        try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: home.base + "/away")
        #expect(reason(home)?.contains("symbolic link") == true)
    }

    @Test func `the executable must be a regular file that may be run`() throws {
        let home = try PluginHome()
        let folder = try home.install(CannedPlugin())
        chmod(folder + "/run", 0o644)
        #expect(reason(home)?.contains("is not executable") == true)
        try FileManager.default.removeItem(atPath: folder + "/run")
        #expect(reason(home)?.contains("No such file") == true)
        mkfifo(folder + "/run", 0o755)
        #expect(reason(home)?.contains("not a regular file") == true)
        try FileManager.default.removeItem(atPath: folder + "/manifest.json")
        mkfifo(folder + "/manifest.json", 0o644)
        #expect(reason(home)?.contains("not a regular file") == true)
    }

    @Test(
        arguments: [
            (["executable": "../run"], "executable"), (["executable": "/bin/sh"], "executable"),
            (["executable": "a/b"], "executable"), (["name": "another"], "manifest is for 'another'"),
            (["name": "../canned"], "name"), (["name": .null], "'name' is missing"), (["version": 1], "version"),
            (["version": ""], "version"), (["protocol_versions": []], "protocol_versions"),
            (["protocol_versions": ["1"]], "protocol_versions"), (["protocol_versions": [2, 3]], "version 2, 3"),
            (["summary": "two\nlines"], "summary"), (["summary": .null], "summary"),
            (["flows": ["telepathy"]], "telepathy"),
            (["flows": []], "flows"), (["flows": "code"], "flows"),
            (["default_redirect_uri": "javascript:1"], "redirect"),
            (["settings": ["bad name": [:]]], "settings"), (["settings": ["a": 1]], "settings.a"),
        ] as [(JSONValue, String)])
    func `a manifest that does not hold is refused`(_ change: JSONValue, _ part: String) throws {
        let home = try PluginHome()
        var plugin = CannedPlugin()
        var manifest = try #require(plugin.manifest.object)
        for (name, value) in change.object?.members ?? [] { manifest[name] = value }
        plugin.manifest = .object(manifest)
        try home.install(plugin)
        let reason = try #require(self.reason(home))
        #expect(reason.contains(part), "\(reason)")
    }

    @Test(arguments: ["{", "[]", "", #"{"name":"canned","name":"canned"}"#, String(repeating: "x", count: 1 << 17)])
    func `a manifest that is no object is refused`(_ text: String) throws {
        let home = try PluginHome()
        let folder = try home.install(CannedPlugin())
        try home.write(text, folder + "/manifest.json")
        #expect(reason(home) != nil)
    }

    @Test func `unknown members of a manifest are ignored`() throws {
        let home = try PluginHome()
        var plugin = CannedPlugin()
        var manifest = try #require(plugin.manifest.object)
        manifest["icon"] = "key.svg"
        plugin.manifest = .object(manifest)
        try home.install(plugin)
        #expect(reason(home) == nil)
    }

    @Test func `a built-in adapter cannot be shadowed`() throws {
        let home = try PluginHome()
        try home.install(CannedPlugin())
        #expect(reason(home, reserved: ["canned"]) == "a built-in adapter has that name")
    }

    @Test func `names that are no names are refused and never looked for`() throws {
        let home = try PluginHome()
        for name in [".hidden", "a b", "-x"] {
            try FileManager.default.createDirectory(
                atPath: "\(home.providers)/\(name)", withIntermediateDirectories: true)
            #expect(reason(home, name)?.contains("is not a valid name") == true)
        }
        for name in ["../canned", "..", "", "a/b", "canned\0"] {
            #expect(try home.catalog().adapter(named: name) == nil)
        }
    }

    @Test func `of one name the first counts, even when it is refused`() throws {
        let first = try PluginHome(), second = try PluginHome()
        let folder = try first.install(CannedPlugin())
        try second.install(CannedPlugin())
        let catalog = PluginCatalog(
            places: [PluginSearchPath(base: first.base), PluginSearchPath(base: second.base)], reserved: [],
            environment: [:], walls: first.walls())
        guard case .shadowed(let by) = catalog.entries()[1].state else {
            Issue.record("the second is not shadowed")
            return
        }
        #expect(by == folder)
        chmod(folder + "/run", 0o644)
        #expect(code { () throws(CredentialError) in _ = try catalog.adapter(named: "canned") } == .configuration)
    }
}
