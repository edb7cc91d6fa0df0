import CredentialCore

extension URI {
    /// Checks that the author of the address may name it, as far as the hosts tell by themselves.
    ///
    /// - Parameter member: the member that holds the address, for the message.
    /// - Throws: ``ErrorCode/validationFailed``, naming the address, its author and the rule.
    func checkAuthor(as member: String) throws(CredentialError) {
        guard !isNamedRightly else { return }
        let party: LocalizedMessage
        switch author {
        case .user: return
        case .issuer(let host): party = "the issuer at \(host)"
        case .api(let host): party = "the API at \(host)"
        }
        throw CredentialError(
            .validationFailed,
            "\(member) is at \(origin), on this machine or its network: \(party) must not use this address")
    }
}
