import Foundation
import TestSupport
import Testing

/// `credmgr demo --hosts`: the rules of docs/how-to/many-hosts.md, played with real nodes.
struct DemoHostsTests {
    @Test(.needs(.program("etcd")))
    func `Three hosts share one sign-in, and a lost node costs nothing`() throws {
        let home = try Home(), before = Self.nodes()
        let shown = try home.run(["demo", "--hosts", "3"]).standardOutput
        for text in [
            "alpha$ credmgr groups share work --etcd https://127.0.0.1:", "beta$ credmgr groups join work",
            "alpha$ credmgr groups admit work gamma --fingerprint", "gamma$ credmgr token --type Work\n",
            "beta$ credmgr token --type Work --force-refresh\n",
            "(refreshes that the provider has seen: 0, refresh tokens used twice: 0)",
            "(refreshes that the provider has seen: 3, refresh tokens used twice: 0)",
        ] { #expect(shown.contains(text), "\(text) is missing in:\n\(shown)") }
        // The tokens are shown in part, and no key.
        #expect(!shown.contains("PRIVATE KEY"))
        #expect(Self.nodes().subtracting(before).isEmpty)
    }

    @Test func `Without etcd the package is named`() throws {
        let home = try Home()
        let outcome = try ChildProcess(
            Home.program, ["demo", "--hosts", "3"], environment: ["HOME": home.path, "PATH": home.path]
        ).run()
        #expect(outcome.exitStatus == 2)
        #expect(outcome.standardError.contains("apt-get install"))
    }

    @Test func `It plays one thing at a time`() throws {
        let home = try Home()
        try home.run(["demo", "--hosts", "1"], exits: 2)
        try home.run(["demo", "--hosts", "3", "--serve"], exits: 2)
    }

    /// The nodes of demonstrations that run now, by their processes.
    private static func nodes() -> Set<String> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return Set(
            names.filter { name in
                let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
                return words.range(of: Data("credmgr-demo-".utf8)) != nil
                    && words.range(of: Data("--listen-peer-urls".utf8)) != nil
            })
    }
}
