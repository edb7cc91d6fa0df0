import CredentialCore
import Testing

@Suite struct UntrustedTextTests {
    @Test func `terminal controls and invisible characters become a space`() {
        let text = "\u{1B}]8;;https://evil.example\u{7}a\u{202E}b\u{200B}c\u{85} d  e\u{2028}f\u{FEFF}"
        #expect(UntrustedText.shown(text) == "]8;;https://evil.example a b c d e f")
    }

    @Test(arguments: ["a", " ", "a ", "\u{0}a", "ab "]) func `no text is longer than its limit and the mark`(
        piece: String
    ) {
        for count in 0..<20 {
            let shown = UntrustedText.shown(String(repeating: piece, count: count), limit: 8)
            #expect(shown.unicodeScalars.count <= 9, "\(shown)")
        }
    }

    @Test func `in a page it is neither markup nor the end of an attribute`() {
        let text = "<a href=\"x\" title='y'>&amp;</a> é\u{1F600}"
        #expect(
            UntrustedText.markup(text)
                == "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt; é\u{1F600}")
    }
}
