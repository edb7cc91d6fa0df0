import Foundation
import TestSupport
import Testing

/// The needs of tests on the machine, and the rule that no test is silently left out when a change is judged.
@Suite struct NeedTests {
    @Test func `an available need is met, in CI or not`() throws {
        let need = Need("something", isThere: true)
        #expect(try need.isMet([:]))
        #expect(try need.isMet(["CI": "true"]))
    }

    @Test(arguments: [[:], ["CI": ""], ["CI": "false"], ["CI": "0"]])
    func `an unavailable need skips a test`(environment: [String: String]) throws {
        #expect(try !Need("something", isThere: false).isMet(environment))
    }

    @Test(arguments: ["true", "1", "yes", "woodpecker"])
    func `in CI it fails the run`(value: String) {
        let missing = #expect(throws: Need.Missing.self) {
            try Need("something", isThere: false).isMet(["CI": value])
        }
        #expect(missing?.description == "CI is set, and this needs something")
    }

    @Test func `a need without a Debian package, or one by explicit request, is skipped in CI, too`() throws {
        #expect(try !Need("something rare", isDemanded: false, isThere: false).isMet(["CI": "true"]))
    }

    @Test func `no suite decides its skips by itself`() throws {
        let tests = try #require(#filePath.range(of: "/PlatformTests/")).lowerBound
        let root = String(#filePath[..<tests])
        var count = 0
        for case let name as String in try #require(FileManager.default.enumerator(atPath: root))
        where name.hasSuffix(".swift") && !name.hasSuffix("/Need.swift") && !name.hasSuffix("/NeedTests.swift") {
            let text = try String(contentsOfFile: root + "/" + name, encoding: .utf8)
            let isSilent = text.contains(".enabled(") || text.contains(".disabled(")
            #expect(!isSilent, "\(name) leaves a test out in silence")
            count += text.components(separatedBy: ".needs(").count - 1
        }
        #expect(count > 40, "the sources are where they are looked for")
    }
}
