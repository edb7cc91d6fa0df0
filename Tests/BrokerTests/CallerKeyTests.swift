import Broker
import Testing

@Suite struct CallerKeyTests {
    @Test(arguments: CallerKey.Kind.allCases)
    func `CallerKey reads its own text`(kind: CallerKey.Kind) {
        let key = CallerKey(kind: kind, value: "a:b")
        #expect(CallerKey(key.description) == key)
    }

    @Test(arguments: ["", "exe", "exe:", "tty:1", ":1"])
    func `CallerKey is nil when the text is no key`(text: String) { #expect(CallerKey(text) == nil) }
}
