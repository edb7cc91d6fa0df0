import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The worker that refreshes, beside a provider that rotates refresh tokens and is slow.
@Suite struct `A refresh of a slow provider` {
    private let home: Home
    private let tenant: DemoTenant
    private let before: String

    init() throws {
        home = try Home(["CREDMGR_STORE": "file"])
        tenant = try DemoTenant { $0.rotation = .revokesOld }
        try tenant.signIn(at: home)
        before = try home.run(["token"]).line
    }

    /// Whether the worker still runs.
    private func isWorking() -> Bool {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] where Int32(name) != nil {
            guard let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline"),
                words.range(of: Data("__refresh-worker".utf8)) != nil,
                let variables = FileManager.default.contents(atPath: "/proc/\(name)/environ"),
                variables.range(of: Data("HOME=\(home.path)".utf8)) != nil
            else { continue }
            return true
        }
        return false
    }

    @Test func `The worker waits for the response longer than its caller, and saves it`() throws {
        tenant.provider.holdTokenReplies(1)
        let late = try home.run(["token", "--force-refresh", "--timeout", "1"], exits: 6)
        #expect(late.standardError.contains("it continues in the background"))
        #expect(tenant.provider.waitForHeldTokenReplies())
        // A request of any other kind ends after 30 s.
        let limit = ContinuousClock.now + .seconds(33)
        while ContinuousClock.now < limit {
            try #require(isWorking(), "the worker has given up")
            usleep(200_000)
        }
        tenant.provider.releaseTokenReplies()
        // Until the worker has ended the old token is still valid, and printed.
        let end = ContinuousClock.now + .seconds(60)
        while isWorking() {
            try #require(ContinuousClock.now < end, "the worker has not ended within 60 s")
            usleep(50_000)
        }
        let token = try home.run(["token"]).line
        #expect(token != before)
        let counters = tenant.provider.counters
        #expect(counters.refreshes == 1 && counters.reusesDetected == 0)
        try home.run(["token", "--force-refresh"])
    }

    @Test(.needs(.root), .needs(.namespaces))
    func `The first process of a container, and its child, wait for the worker whatever the time limit`() throws {
        let refresh = ["token", "--force-refresh", "--timeout", "1"]
        for words in [[Home.program] + refresh, ["sh", "-c", "\"$@\"; exit $?", "sh", Home.program] + refresh] {
            tenant.provider.holdTokenReplies(1)
            let process = try ChildProcess(
                "unshare", ["--pid", "--fork", "--mount-proc"] + words, environment: home.environment
            ).start()
            try process.wait(for: "this container ends with the command")
            #expect(process.isRunning)
            tenant.provider.releaseTokenReplies()
            let outcome = try process.outcome()
            #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
            #expect(try home.run(["token"]).standardOutput == outcome.standardOutput)
        }
        let counters = tenant.provider.counters
        #expect(counters.refreshes == 2 && counters.reusesDetected == 0)
    }
}
