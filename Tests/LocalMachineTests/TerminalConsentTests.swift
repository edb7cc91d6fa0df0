import Broker
import CredentialCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalMachine

@Suite struct TerminalConsentTests {
    private let text = ConsentText(
        ConsentQuestion(
            caller: Caller(uid: 1, pid: 2, key: CallerKey(kind: .uid, value: "1")), entry: "e", account: "a",
            type: "Work", broker: "b")
    ) { $0.description }

    @Test func `TerminalConsentPrompt is not here without a terminal`() throws {
        let temporary = try TemporaryFolder()
        #expect(FileManager.default.createFile(atPath: temporary.path + "/file", contents: Data()))
        for path in ["/nowhere", "/dev/null", temporary.path + "/file"] {
            #expect(TerminalConsentPrompt(path: path).ask(text, milliseconds: 1_000) == nil)
        }
    }
}
