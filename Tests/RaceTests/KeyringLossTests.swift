import DemoProvider
import StrictJSON
import TestSupport
import Testing

@Suite(.serialized, .enabled(if: PrivateKeyring.isInstalled)) struct KeyringLossTests {
    /// What happens to the keyring between a request and its reply.
    enum Loss: String, CaseIterable {
        case ends, isLocked
    }

    @Test(arguments: Loss.allCases)
    func `tokens that the keyring does not take are journaled and taken up`(loss: Loss) throws {
        let keyring = try PrivateKeyring(.gnomeKeyring)
        defer { keyring.stop() }
        let track = try Track(keyring: keyring)
        try track.signIn()
        let minimum = track.outliveTokens()
        track.provider.change { $0.replyMilliseconds = 1_500 }
        let before = track.provider.counters
        let call = try track.start(["token", "--min-valid", minimum])
        try track.waitForRequest(after: before.tokenRequests)
        switch loss {
        case .ends: keyring.stopService()
        case .isLocked: try keyring.lock()
        }
        let printed = call.result()
        #expect(printed.exitStatus == 0, "\(printed.errors)")
        #expect(printed.errors.contains("kept encrypted"))
        try track.run(["token"], exits: 5)
        switch loss {
        case .ends: try keyring.startService()
        case .isLocked: try keyring.unlock()
        }
        track.provider.change { $0.replyMilliseconds = 0 }
        #expect(try track.run(["token", "--min-valid", minimum]).output == printed.output)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        try track.run(["token", "--force-refresh"])
        #expect(track.provider.counters.reusesDetected == 0)
    }
}
