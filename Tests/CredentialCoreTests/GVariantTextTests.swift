import CredentialCore
import Testing

/// The text that GLib prints for variants, as GNOME Online Accounts keeps them.
@Suite struct `Variants as text` {
    @Test(arguments: [
        ("{'a': <'x'>}", ["a": "x"]),
        (#"{'a': <"it's">, "b": <'say "x"'>}"#, ["a": "it's", "b": "say \"x\""]),
        ("{'n': <int64 5>, 'a': <'x'>, 'l': <[<'>'>, <'}'>]>, 'v': <<'y'>>}", ["a": "x"]),
        (#"{'a': <'\'\\\n\t\u00e9\U0001F600'>}"#, ["a": "'\\\n\té😀"]),
        ("{ 'a' : < 'x' > }", ["a": "x"]),
        ("{}", [:]), ("@a{sv} {}", [:]), ("", [:]), ("{", [:]), ("{'a'", [:]), ("{'a': <'x", [:]),
        ("{'a': <'x'>", [:]), ("{'a': <'x'>} more", [:]), ("{'a': 'x'}", [:]), ("{'a': <'x'> 'b': <'y'>}", [:]),
        (#"{'a': <'\uZZZZ'>}"#, [:]), (#"{'a': <'\ud800'>}"#, [:]), (#"{'a': <'\"#, [:]), ("{'a': <5", [:]),
        ("[1]", [:]), ("{'a': <'x'>}\n", [:]),
    ])
    func `strings are read, and malformed text gives no value`(_ text: String, _ strings: [String: String]) {
        #expect(GVariantText.strings(in: text) == strings)
    }
}
