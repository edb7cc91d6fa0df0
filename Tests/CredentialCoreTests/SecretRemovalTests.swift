import CredentialCore
import Testing

@Suite struct SecretRemovalTests {
    private static let secret = #"s3cr3t/+"=~* value"#
    private let removal = SecretRemoval([secret, "short"])

    @Test(arguments: [
        secret, #"s3cr3t%2F%2B%22%3D~%2A%20value"#, #"s3cr3t%2F%2B%22%3D%7E*+value"#, #"s3cr3t\/+\"=~* value"#,
        #"s3cr3t%2f%2b%22%3d~%2a%20value"#, #"s3cr3t/+\"=~* value"#, Base64URL.encode(Array(secret.utf8)),
        Base64URL.encodeOrdinary(Array(secret.utf8)),
    ])
    func `a secret is found in every form in which servers repeat it`(form: String) {
        let clean = removal.cleaned("invalid token '\(form)' for client")
        #expect(clean.hasPrefix("invalid token '[redacted]") && clean.hasSuffix("' for client"), "\(clean)")
        #expect(!clean.contains("s3cr3t") && !clean.contains(form))
    }

    @Test func `short secrets and other text stay`() {
        #expect(removal.cleaned("a short text: ä") == "a short text: ä")
        #expect(SecretRemoval([]).cleaned("text") == "text")
    }

    @Test func `of a secret that begins another one the longer is taken out whole`() {
        let removal = SecretRemoval(["12345678", "1234567890"])
        #expect(removal.cleaned("1234567890 12345678") == "[redacted] [redacted]")
    }
}
