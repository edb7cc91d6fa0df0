import CredentialCore
import OAuth
import Testing

@Suite struct HTTPDateTests {
    @Test func `the date of a reply is read`() {
        #expect(Timestamp(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT")?.epochSeconds == 784_111_777)
        #expect(Timestamp(httpDate: "Sat, 21 Nov 2026 01:02:03 GMT")?.rfc3339 == "2026-11-21T01:02:03Z")
    }

    @Test(arguments: [
        "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
    ])
    func `other dates are none`(text: String) {
        #expect(Timestamp(httpDate: text) == nil)
    }
}
