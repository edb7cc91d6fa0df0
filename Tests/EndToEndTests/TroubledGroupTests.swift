import Foundation
import StrictJSON
import TestSupport
import Testing

/// The fault of one group stops no list of the others.
@Suite struct `Groups beside one that is in trouble` {
    private let tenant: DemoTenant

    init() throws { tenant = try DemoTenant() }

    /// The rows of a list, by group or store.
    private func byName(_ home: Home, _ words: String...) throws -> [String: JSONObject] {
        let rows = (try home.json(words + ["--json"]).array ?? []).compactMap(\.object)
        return Dictionary(rows.map { (($0["group"] ?? $0["store"])?.string ?? "", $0) }) { first, _ in first }
    }

    /// A home with a type in a group of its own, and groups that no command can read.
    private func troubledHome() throws -> Home {
        let home = try Home()
        try tenant.define("Own", at: home)
        try home.run(["types", "set", "Own", "keychain_group=own"])
        let groups = "data/credmgr/groups/"
        for (folder, file, text) in [("a-shared/shared", "backend", "{}"), ("b-later", "format", "99\n")] {
            try FileManager.default.createDirectory(
                atPath: home.path + "/" + groups + folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            try home.write(text, to: groups + folder + "/" + file)
        }
        return home
    }

    @Test func `The groups of types are listed without a word of the others`() throws {
        let home = try troubledHome()
        let listed = try home.run(["groups"])
        #expect(listed.standardOutput.contains("own "))
        for name in ["a-shared", "b-later"] {
            #expect(listed.standardError.contains("warning: the accounts of group \(name) are left out: "))
        }
        let rows = try byName(home, "groups")
        #expect(rows["own"]?["accounts"] == 0 && rows["own"]?["types"]?.array == ["Own"])
        #expect(rows["a-shared"]?["accounts"] == .null && rows["b-later"]?["accounts"] == .null)
        try home.run(["groups", "--group", "a-shared"], exits: 5)
        try home.run(["groups", "--group", "b-later"], exits: 2)
        try FileManager.default.removeItem(atPath: home.path + "/config/credmgr/types/Own.json")
        // An empty list would claim that there is no other group.
        try home.run(["groups"], exits: 2)
    }

    @Test func `Stores are shown, and accounts that can be moved are moved`() throws {
        let home = try troubledHome()
        let id = try tenant.signIn(at: home, type: "Own")
        let status = try byName(home, "store", "status")
        #expect(status["file"]?["accounts"] == 1 && status["file"]?["state"] == "usable")
        let shared = status["etcd"]?["groups"]?.array?.first?.object
        #expect(shared?["group"] == "a-shared" && shared?["state"] == "damaged" && shared?["protection"] == .null)
        let said = try home.run(["store", "status"]).standardError
        #expect(said.contains("warning: the accounts of group b-later are left out: "))
        // credmgr reports the trouble when the rest is done.
        let moved = try ChildProcess(
            Home.program, ["store", "migrate", "--to", "file", "--dry-run"], environment: home.environment
        ).run()
        #expect(moved.exitStatus != 0 && moved.standardError.contains("a newer credmgr"))
        #expect(try home.run(["__complete", "use", ""]).standardOutput.contains(id))
    }

    @Test func `A host that waits, or was expelled, lists its own groups`() throws {
        let hosts = try SharedHosts(try EtcdNodes.shared())
        let one = hosts["one"], two = hosts["two"], group = SharedHosts.group
        try hosts.tenant.signIn(at: one)
        try one.run(["groups", "share", group] + hosts.cluster(as: "one"))
        try hosts.tenant.define("Own", at: two)
        try two.run(["types", "set", "Own", "keychain_group=own"])
        func check(_ words: String) throws {
            let listed = try two.run(["groups"])
            #expect(listed.standardOutput.contains("\nown ") && listed.standardOutput.contains("\n\(group) "))
            #expect(listed.standardError.contains(words), "\(listed.standardError)")
            let rows = try byName(two, "groups")
            #expect(rows["own"]?["accounts"] == 0 && rows[group]?["accounts"] == .null)
            #expect(rows[group]?["shared"]?.object?["state"] == "locked")
            #expect(try byName(two, "store", "status")["etcd"]?["state"] == "locked")
            try two.run(["groups", "--group", group], exits: 5)
        }
        let shown = try two.json(["groups", "join", group, "--json"] + hosts.cluster(as: "two"))
        let fingerprint = try #require(shown.object?["fingerprint"]?.string)
        try check("admit")
        try one.run(["groups", "admit", group, "two", "--fingerprint", fingerprint])
        #expect(try byName(two, "groups")[group]?["accounts"] == 1)
        try one.run(["groups", "expel", group, "two"])
        try check("any more")
    }
}
