/// Listens on the loopback for the redirect of one sign-in.
package protocol RedirectReceiver: Sendable {
    /// The redirect URI, with the port that is listened on.
    var redirectURI: String { get }

    /// Waits for the redirect; requests that `isExpected` refuses are answered and do not end the wait. The browser
    /// that brought it waits for ``show(title:text:)``.
    ///
    /// - Throws: ``ErrorCode/temporary`` when no redirect came within `seconds`.
    /// - Parameter formOrigin: the origin of the pages that may post the answer (`response_mode=form_post`); `nil`
    ///   for the other response modes.
    func wait(
        seconds: Int, formOrigin: String?, isExpected: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> String

    /// Shows the browser the outcome of the redirect that it brought: one line, and a paragraph.
    func show(title: LocalizedMessage, text: LocalizedMessage)

    /// Stops listening, and ends a wait.
    func stop()
}

/// Opens listeners for redirects.
package protocol RedirectReceivers: Sendable {
    /// Listens at a localhost redirect URI: at its port, or at a free one when it names no port.
    ///
    /// - Parameters:
    ///   - peers: whose programs may bring the redirect.
    ///   - stranger: told once of each other user who has brought one that fits, `nil` for one that is not known.
    /// - Throws: ``ErrorCode/temporary`` when the port is taken.
    func listen(
        at redirectURI: URI, for peers: AllowedRedirectPeers, stranger: @escaping @Sendable (UInt32?) -> Void
    ) throws(CredentialError) -> any RedirectReceiver
}
