/// Listens on the loopback for the redirect of one sign-in.
package protocol RedirectReceiver: Sendable {
    /// The redirect URI, with the port that is listened on.
    var redirectURI: String { get }

    /// Waits for the redirect; requests that `isExpected` refuses are answered and do not end the wait. The browser
    /// that brought it waits for ``show(title:text:)``.
    ///
    /// - Throws: ``ErrorCode/temporary`` when none came within `seconds`.
    /// - Parameter formOrigin: the origin of the pages that may post the answer (`response_mode=form_post`); `nil`
    ///   for the other response modes.
    func wait(
        seconds: Int, formOrigin: String?, isExpected: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> String

    /// Tells the browser what became of the redirect that it brought: the outcome in one line, and a paragraph.
    func show(title: LocalizedMessage, text: LocalizedMessage)

    /// Stops listening, and ends a wait.
    func stop()
}

/// Opens listeners for redirects.
package protocol RedirectReceivers: Sendable {
    /// Listens at a loopback redirect URI: at its port, or at a free one when it names none.
    ///
    /// - Parameters:
    ///   - peers: whose programs may bring the redirect.
    ///   - stranger: told once of each other user who has brought one that fits, `nil` for one that is not known.
    /// - Throws: ``ErrorCode/temporary`` when the port is taken.
    func listen(
        at redirectURI: URI, for peers: AllowedRedirectPeers, stranger: @escaping @Sendable (UInt32?) -> Void
    ) throws(CredentialError) -> any RedirectReceiver
}
