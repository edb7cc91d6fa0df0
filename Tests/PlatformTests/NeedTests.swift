import TestSupport
import Testing

/// What tests need of the machine, and that none is left out in silence where a change is judged.
@Suite struct NeedTests {
    @Test func `what is there is there, in CI or not`() throws {
        let need = Need("something", isThere: true)
        #expect(try need.isMet([:]))
        #expect(try need.isMet(["CI": "true"]))
    }

    @Test(arguments: [[:], ["CI": ""], ["CI": "false"], ["CI": "0"]])
    func `what is missing leaves a test out`(environment: [String: String]) throws {
        #expect(try !Need("something", isThere: false).isMet(environment))
    }

    @Test(arguments: ["true", "1", "yes", "woodpecker"])
    func `in CI it fails the run`(value: String) {
        let missing = #expect(throws: Need.Missing.self) {
            try Need("something", isThere: false).isMet(["CI": value])
        }
        #expect(missing?.description == "CI is set, and this needs something")
    }
}
