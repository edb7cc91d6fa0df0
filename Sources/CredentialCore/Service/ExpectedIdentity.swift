package import StrictJSON

/// The user whose sign-in is awaited: the user of a known account, and no other user.
package struct ExpectedIdentity: Sendable, Hashable {
    /// The account's id.
    package let accountID: String
    /// The type it was signed in under.
    package let type: String
    /// The provider, and the client that it was signed in by: at another one the same subject is a different user.
    package let registration: ClientIdentity
    /// The subject identifier of the account at the provider.
    package let subject: String
    /// The name of the account, for messages.
    package let name: String

    /// The person of an account.
    package init(_ account: Account) {
        accountID = account.id
        type = account.type
        registration = account.registration
        subject = account.subject
        name = account.shownName
    }

    /// Reads the output of ``json``; `nil` for any other value.
    package init?(_ json: JSONObject) {
        guard let accountID = json["account"]?.string, let type = json["type"]?.string,
            let provider = json["provider"]?.string, let clientID = json["client_id"]?.string,
            let subject = json["subject"]?.string, let name = json["name"]?.string
        else { return nil }
        (self.accountID, self.type, self.subject, self.name) = (accountID, type, subject, name)
        registration = ClientIdentity(provider: provider, clientID: clientID)
    }

    /// Everything of it, to be kept while a sign-in waits.
    package var json: JSONObject {
        JSONObject([
            "account": .string(accountID), "type": .string(type), "provider": .string(registration.provider),
            "client_id": .string(registration.clientID), "subject": .string(subject), "name": .string(name),
        ])
    }

    /// Refuses a sign-in of a different user.
    ///
    /// - Parameter again: the command that signs in again, for the hint.
    /// - Throws: ``ErrorCode/denied``, naming both.
    func check(
        _ identity: Identity, of type: AccountType, _ registration: ClientIdentity, in group: KeychainGroup,
        again: LoginHint?
    ) throws(CredentialError) {
        // One that waits since before an update names it in the earlier form.
        guard registration == self.registration || registration.earlier == self.registration else {
            throw self.registration.notSeen(accountID, by: type, registration, in: group, code: .denied)
        }
        guard !ConstantTime.equal(identity.subject, subject) else { return }
        throw CredentialError(
            .denied,
            "\(UntrustedText.shown(identity.shownName)) has signed in, not \(UntrustedText.shown(name)) "
                + "(\(accountID)); credmgr saved nothing",
            hint: again?.hint)
    }
}

extension Identity {
    /// The name that is shown for a user.
    package var shownName: String { username ?? displayName ?? subject }
}
