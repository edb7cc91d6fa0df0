/// The rule for names of account types, keychain groups, policy aliases and providers:
/// `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`, case-sensitive.
///
/// It keeps a name usable as one path component and as one word of a shell.
public enum Identifier {
    /// The kind of thing that a name is of.
    public enum Kind: Sendable {
        case accountType, keychainGroup, preset
    }

    /// Gives back `name` when it obeys the rule.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - kind: the kind of the named thing, for the message.
    /// - Throws: ``ErrorCode/usage`` when it does not.
    public static func checked(_ name: String, kind: Kind) throws(CredentialError) -> String {
        guard isValid(name) else {
            let shown = UntrustedText.shown(name, limit: 60)
            let message: LocalizedMessage =
                switch kind {
                case .accountType: "'\(shown)' is not a valid name of an account type"
                case .keychainGroup: "'\(shown)' is not a valid name of a keychain group"
                case .preset: "'\(shown)' is not a valid name of a preset"
                }
            throw CredentialError(
                .usage, message,
                hint: "use 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or digit")
        }
        return name
    }

    /// The valid name that is nearest to an invalid text: `B2C Account` is `B2C-Account`; `nil` if no part of it
    /// can stay.
    package static func near(_ text: String) -> String? {
        var name = ""
        for scalar in text.unicodeScalars {
            if scalar.isASCII, isValid("a" + String(scalar)) {
                name.unicodeScalars.append(scalar)
            } else if !name.isEmpty, name.last != "-" {
                name += "-"
            }
        }
        let isEdge: (Character) -> Bool = { "-._".contains($0) }
        let trimmed = String(name.drop(while: isEdge).prefix(128).reversed().drop(while: isEdge).reversed())
        return isValid(trimmed) ? trimmed : nil
    }

    /// Whether `name` obeys the rule.
    public static func isValid(_ name: String) -> Bool {
        guard let first = name.utf8.first, isAlphanumeric(first), name.utf8.count <= 128 else { return false }
        return name.utf8.allSatisfy(isPart)
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
