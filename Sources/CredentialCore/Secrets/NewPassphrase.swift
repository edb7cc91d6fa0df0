/// What a passphrase that somebody makes up has to be.
package enum NewPassphrase {
    /// The fewest characters that are taken without a word.
    package static let shortest = 8

    /// Whether whoever has the file would try it out soon.
    package static func isWeak(_ passphrase: Secret) -> Bool { passphrase.reveal().count < shortest }

    /// Refuses a weak one.
    ///
    /// - Parameter name: what it is and where it is from, for the message.
    /// - Throws: ``ErrorCode/usage``.
    package static func check(_ passphrase: Secret, _ name: String, hint: String) throws(CredentialError) {
        if isWeak(passphrase) {
            throw CredentialError(
                .usage,
                "\(name) has fewer than \(shortest) characters: whoever copies the encrypted file tries them all",
                hint: hint)
        }
    }
}
