import CredentialCore
import Foundation
import LocalFiles
import TestSupport
import Testing

/// The digests of used-up refresh tokens on a real disk.
@Suite struct SpentTokenFilesTests {
    private let temporary: TemporaryFolder
    private let group = KeychainGroup.standard

    init() throws { temporary = try TemporaryFolder() }

    @Test func `digests of used tokens are kept, the newest at least`() throws {
        let spent = SpentTokenFiles(stateHome: temporary.path + "/state")
        #expect(!spent.contains([1], of: "a", in: group))
        for number in 0..<200 { spent.add([UInt8(number)], of: "a", in: group) }
        #expect(spent.contains([199], of: "a", in: group) && spent.contains([150], of: "a", in: group))
        #expect(!spent.contains([0], of: "a", in: group) && !spent.contains([199], of: "b", in: group))
    }

    @Test func `where no digest can be kept, that is known`() throws {
        let state = temporary.path + "/state", spent = SpentTokenFiles(stateHome: state)
        try spent.checkMemory()
        #expect(!FileManager.default.fileExists(atPath: state))
        spent.add([1], of: "a", in: group)
        try spent.checkMemory()
        let file = "\(state)/credmgr/spent/\(group)/a"
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        #expect(throws: CredentialError.self) { try spent.checkMemory() }
        try FileManager.default.removeItem(atPath: state)
        try Data().write(to: URL(fileURLWithPath: state))
        let refused = #expect(throws: CredentialError.self) { try spent.checkMemory() }
        #expect(refused?.code == .inputOutput && refused?.message.contains(state) == true)
    }
}
