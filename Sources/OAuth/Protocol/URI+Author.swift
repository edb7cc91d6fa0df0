import CredentialCore

extension URI {
    /// Checks that the author of the address may name it, as far as the hosts tell by themselves.
    ///
    /// - Parameters:
    ///   - member: the member that holds the address, for the message.
    ///   - document: the document that has the member; `nil` if only its author is known.
    /// - Throws: ``ErrorCode/validationFailed``, naming the address, its author and the rule.
    func checkAuthor(as member: String, in document: LocalizedMessage? = nil) throws(CredentialError) {
        guard !isNamedRightly, let party = author.party else { return }
        throw AddressAuthor.refusal(
            "\(member) is at \(origin), on this machine or its network: \(party) must not use this address",
            of: origin, by: document ?? party, rule: .network)
    }
}

extension AddressAuthor {
    /// The error for a member that is no URL with https.
    ///
    /// - Parameters:
    ///   - value: the value of the member, without any part that may be secret.
    ///   - document: the document that has the member.
    static func refusal(
        ofUnprotected value: String, as member: String, in document: LocalizedMessage
    ) -> CredentialError {
        refusal(
            "\(document) has a \(member) that is not a URL with https: '\(UntrustedText.shown(value))'",
            of: value, by: document, rule: .https)
    }
}
