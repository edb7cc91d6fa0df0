import DemoProvider
import StrictJSON
import TestSupport
import Testing

@Suite(.serialized, .needs(.keyring)) struct KeyringLossTests {
    /// The event that hits the keyring between a request and its reply.
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
        track.holdReplies()
        let before = track.provider.counters
        let call = try track.start(["token", "--min-valid", minimum])
        try track.waitForHeldReplies()
        switch loss {
        case .ends: keyring.stopService()
        case .isLocked: try keyring.lock()
        }
        track.provider.releaseTokenReplies()
        let printed = call.result()
        #expect(printed.exitStatus == 0, "\(printed.errors)")
        #expect(printed.errors.contains("encrypted in the journal"))
        try track.run(["token"], exits: 5)
        switch loss {
        case .ends: try keyring.startService()
        case .isLocked: try keyring.unlock()
        }
        #expect(try track.run(["token", "--min-valid", minimum]).output == printed.output)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        try track.run(["token", "--force-refresh"])
        #expect(track.provider.counters.reusesDetected == 0)
    }

    /// A caller that stays, and its own connection to the bus.
    private func keepToken(_ track: Track) throws -> Call {
        track.provider.change { $0.accessTokenLifetime = 10 }
        try track.signIn()
        let script = #"""
            first=$(cat "$CREDMGR_TOKEN_FILE"); tries=0; echo ready
            while [ "$(cat "$CREDMGR_TOKEN_FILE")" = "$first" ]; do
                tries=$((tries + 1)); [ $tries -lt 600 ] || exit 1; sleep 0.05
            done
            """#
        let call = try track.start(["exec", "--", "/bin/sh", "-c", script])
        #expect(call.line() == "ready")
        return call
    }

    @Test func `a token is kept fresh after the bus was started anew`() throws {
        let keyring = try PrivateKeyring(.gnomeKeyring)
        defer { keyring.stop() }
        let track = try Track(keyring: keyring)
        let call = try keepToken(track)
        try keyring.restartBus()
        let result = withExtendedLifetime(track) { call.result() }
        #expect(result.exitStatus == 0, "\(result.errors)")
        #expect(result.errors.isEmpty, "\(result.errors)")
    }

    @Test func `a token is kept fresh again when its keyring is back`() throws {
        let keyring = try PrivateKeyring(.gnomeKeyring)
        defer { keyring.stop() }
        let track = try Track(keyring: keyring)
        let call = try keepToken(track)
        keyring.stopService()
        try track.wait(for: "a warning") { call.errors.contains("cannot refresh the token") }
        try keyring.startService()
        let result = withExtendedLifetime(track) { call.result() }
        #expect(result.exitStatus == 0, "\(result.errors)")
    }
}
