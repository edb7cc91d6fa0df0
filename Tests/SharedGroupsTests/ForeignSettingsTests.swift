import CredentialCore
import StrictJSON
import Testing

@testable import SharedGroups
@testable import Simulation

/// The settings that hosts agree on are those that one of them has set, in spite of an expelled host's records.
@Suite("What an expelled host has others agree on counts for nothing")
struct ForeignSettingsTests {
    @Test func `the initial settings of the hosts are known, and proven again if the cluster was restored`() throws
    {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get()
        for place in 0..<3 { #expect(try scene.token(place)) }
        try outcast.put(
            outcast.former.filter { !$0.key.contains("/a/") }.map { .put($0.key, $0.value) })
        let two = scene.run.hosts[1].process().ports.sharing.membership
        _ = try two.expel("spare", from: World.group)
        try scene.checkMended()
        for place in 0..<3 {
            let findings = scene.run.hosts[place].process().ports.sharing.membership.findings(of: World.group)
            #expect(findings.allSatisfy { $0.error == nil })
        }
    }

    @Test func `an older key that is restored proves no settings to a host that has read a newer one`() throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get(), newest = try scene.newest
        let process = scene.run.hosts[0].process(), two = scene.run.hosts[1]
        let theirs = try outcast.standing(agreeing: 30)
        // Between the look at the group and the change.
        process.trace.act(before: "cluster.read") {
            process.trace.act(before: "cluster.read") { try? outcast.put(theirs) }
        }
        let refused = #expect(throws: CredentialError.self) {
            try process.ports.sharing.membership.change(World.group, cacheSeconds: 50, takeOverSeconds: nil)
        }
        #expect(refused?.code == .storeUnavailable)

        // The second host reads about the newer key, and does not have it.
        try outcast.put([
            .put(World.path + "epoch", newest.encoded), .remove("\(World.path)keys/\(newest.number)/two"),
        ])
        let locked = #expect(throws: CredentialError.self) { try two.process().ports.sharing.check(World.group) }
        #expect(locked?.code == .storeLocked)
        try outcast.put(theirs)
        _ = try two.process().ports.sharing.membership.expel("spare", from: World.group)
        try scene.checkMended()
        for place in 0..<3 {
            let backend = try scene.run.hosts[place].process().ports.sharing.backend(of: World.group)
            #expect(backend?.takeOverSeconds == nil)
        }
    }

    @Test func `settings by an expelled host are ignored`() throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get(), place = World.path + "group"
        func sharing(_ place: Int) -> any SharedGroupService { scene.run.hosts[place].process().ports.sharing }
        func agreed(_ place: Int) throws -> GroupSettings? { try sharing(place).backend(of: World.group)?.settings }
        func finding() -> ClusterDiagnostic? {
            sharing(1).membership.findings(of: World.group).first { $0.check == "settings" }
        }
        var ours = GroupSettings(), theirs = GroupSettings()
        (ours.cacheSeconds, theirs.cacheSeconds, theirs.takeOverSeconds) = (50, 86_400, 30)
        try sharing(0).membership.change(World.group, cacheSeconds: 50, takeOverSeconds: nil)
        for place in 0..<3 {
            #expect(try scene.token(place))
            #expect(try agreed(place) == ours)
        }
        #expect(finding() == nil)
        let facts = try GroupFacts(try #require(scene.world.cluster.content.records[place]))
        // Proven by the key that it had, and as if that were the newest; and not at all.
        var forged = try [KeyEpoch.firstNumber, scene.newest.number].map { epoch in
            try facts.encoded(agreeing: theirs, outcast.wrap, key: outcast.formerKey, epoch: epoch)
        }
        var unproven = try #require(try JSONValue.parse(forged[0]).object)
        unproven["agreed"] = nil
        forged.append(JSONValue.object(unproven).bytes())
        for content in forged {
            try outcast.put([.put(place, content)])
            for place in 0..<3 {
                #expect(try scene.token(place))
                #expect(try agreed(place) == ours)
            }
            #expect(finding()?.error?.code == .problemsFound)
            #expect(
                finding()?.error?.hint?.hasSuffix(
                    "credmgr groups share default --cache-ttl 50 --take-over never") == true)
        }
        // The next key removes the forged settings, and a change of the settings does so if they come back.
        try scene.expel("three")
        #expect(finding() == nil)
        try outcast.put([.put(place, forged[0])])
        try sharing(1).membership.change(World.group, cacheSeconds: 40, takeOverSeconds: nil)
        ours.cacheSeconds = 40
        for place in 0..<2 {
            #expect(try scene.token(place))
            #expect(try agreed(place) == ours)
        }
        #expect(finding() == nil)
    }
}
