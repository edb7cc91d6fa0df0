import Foundation
import TestSupport
import Testing

/// Another key for the encrypted file while the real program seals with the former one, and is stopped there.
@Suite(.serialized, .needs(Need("a C compiler", isThere: Faults.shared != nil))) struct KeyRaceTests {
    private let rekey = ["store", "rekey", "--key-file", "--group", Track.group]

    @Test func `A first sign-in that stands before its record is opened by the new key`() throws {
        let track = try Track()
        let login = try track.start(
            [
                "login", "--type", "Reader", "--username", "alice@example.com", "--password-file",
                track.path("password"),
            ], Faults.environment("STOP", "record"))
        try track.waitUntilStopped(login.processID)
        // No record names it yet: its key stays, and the message reports that.
        let rekeyed = try track.run(rekey, exits: 6)
        #expect(rekeyed.errors.contains("is already opened by its key file, and keeps the old key"))
        login.send(SIGCONT)
        #expect(login.result().exitStatus == 0)
        try track.run(["token"])
        try track.run(rekey)
        try track.run(["token", "--force-refresh"])
        #expect(try track.run(["doctor", "--json"]).errors.isEmpty)
    }

    @Test func `If an account is locked, the key is unchanged, and the error says so`() throws {
        let track = try Track(), account = try track.signIn()
        let minimum = track.outliveTokens()
        let store = URL(fileURLWithPath: track.groupFile("store.v1")), before = try Data(contentsOf: store)
        let refresh = try track.start(
            ["token", "--min-valid", minimum], Faults.environment("STOP", "record"))
        try track.wait(for: "a holder of the lock") {
            let file = open(track.groupFile("locks/\(account).lock"), O_RDWR | O_CLOEXEC)
            defer { close(file) }
            return flock(file, LOCK_EX | LOCK_NB) != 0
        }
        let rekeyed = try track.run(rekey + ["--timeout", "1"], exits: 6)
        #expect(
            rekeyed.errors.contains(
                "the key has not changed: the encrypted file of group race is opened by its key file"))
        #expect(try Data(contentsOf: store) == before)
        // The worker is stopped, and not its caller.
        if let holder = Int32(
            try String(contentsOfFile: track.groupFile("locks/\(account).lock"), encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines))
        {
            try track.waitUntilStopped(holder)
            kill(holder, SIGCONT)
        }
        #expect(refresh.result().exitStatus == 0)
        try track.run(rekey)
        try track.run(["token", "--force-refresh"])
    }
}
