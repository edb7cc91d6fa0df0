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

    @Test(arguments: ["the passwords differ", "mypassword", "password1", "passwort"])
    func `a short secret is taken out as a whole word only`(text: String) {
        #expect(SecretRemoval(["password"]).cleaned(text) == text)
    }

    @Test(arguments: [
        ("password", "[redacted]"), ("the password: password.", "the [redacted]: [redacted]."),
        ("a%20password&b", "a%20[redacted]&b"), (#"line\npassword""#, #"line\n[redacted]""#),
        (#"a\u003dpassword"#, #"a\u003d[redacted]"#),
    ])
    func `a short secret is found after text and escapes`(text: String, clean: String) {
        #expect(SecretRemoval(["password"]).cleaned(text) == clean)
    }

    @Test func `a long secret is found in the midst of a word`() {
        let secret = "0123456789abcdefghij"
        #expect(SecretRemoval([secret]).cleaned("x\(secret)y") == "x[redacted]y")
    }

    @Test(arguments: [
        ("token 01234567", "token [redacted]"), ("token 0123456789abc... is", "token [redacted]... is"),
        ("token 0123456789abc\u{2026}", "token [redacted]\u{2026}"), ("token 0123456", "token 0123456"),
        ("token 0123456789 is", "token 0123456789 is"),
    ])
    func `a secret that is cut off is found from 8 bytes on`(text: String, clean: String) {
        #expect(SecretRemoval(["0123456789abcdefghij"]).cleaned(text) == clean)
    }
}
