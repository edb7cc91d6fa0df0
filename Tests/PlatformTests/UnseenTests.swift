import CredentialCore
import Glibc
import Testing

@testable import Platform

@Suite struct `What is typed early` {
    /// Whether a terminal echoes typed text, and whether it edits lines.
    private func flags(of terminal: Int32) -> (echoes: Bool, edits: Bool) {
        var settings = termios()
        #expect(tcgetattr(terminal, &settings) == 0)
        return (settings.c_lflag & tcflag_t(ECHO) != 0, settings.c_lflag & tcflag_t(ICANON) != 0)
    }

    @Test func `is not shown, stays for the next reader, and is shown again afterwards`() throws {
        var leader: Int32 = -1, follower: Int32 = -1
        #expect(openpty(&leader, &follower, nil, nil, nil) == 0)
        defer { close(leader) }
        let terminal = RawTerminal(FileDescriptor(owning: follower))
        #expect(flags(of: follower) == (true, true))
        var meanwhile = (echoes: true, edits: false)
        try terminal.whileUnseen { () throws(CredentialError) in
            meanwhile = flags(of: follower)
            #expect(write(leader, "early\n", 6) == 6)
            // A terminal accepts typed text in a time of its own.
            var waiting = pollfd(fd: follower, events: Int16(POLLIN), revents: 0)
            #expect(poll(&waiting, 1, -1) == 1)
        }
        #expect(meanwhile == (false, true))
        #expect(flags(of: follower) == (true, true))
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(follower, &bytes, 16) == 6)
        // The echo would have come before anything that is written now.
        #expect(write(follower, "x", 1) == 1)
        #expect(read(leader, &bytes, 16) == 1 && bytes[0] == UInt8(ascii: "x"))
    }

    @Test func `is shown again when the work fails`() throws {
        var leader: Int32 = -1, follower: Int32 = -1
        #expect(openpty(&leader, &follower, nil, nil, nil) == 0)
        defer { close(leader) }
        let terminal = RawTerminal(FileDescriptor(owning: follower))
        #expect(throws: CredentialError.self) {
            try terminal.whileUnseen { () throws(CredentialError) in throw CredentialError(.storeLocked, "locked") }
        }
        #expect(flags(of: follower) == (true, true))
    }
}
