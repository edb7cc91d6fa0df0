import CredentialCore

/// Shows the code of a device sign-in, and on a terminal a QR code of its address.
struct DeviceCodeDisplay: Sendable {
    let session: CommandSession

    /// Shows a code.
    ///
    /// - Parameter complete: the address with the code in it (RFC 8628 §3.3.1); the QR code is of it, so that a
    ///   phone that reads it needs no typing.
    func show(_ userCode: String, at address: URI, complete: URI?) {
        session.notices.say("On any device, open \(address)")
        session.notices.say("and enter the code  \(UntrustedText.shown(userCode, limit: 64))")
        if let complete { session.notices.say("or open  \(complete)") }
        showQRCode(of: complete ?? address)
    }

    /// A picture that cannot be shown is no loss: the address is above it.
    private func showQRCode(of address: URI) {
        let console = session.context.console
        guard console.noticeIsTerminal, takesBlocks else { return }
        do throws(CredentialError) {
            let modules = try session.context.qrCodes.modules(of: address.description)
            guard QRCodeText.width(of: modules) <= console.width else { return }
            let hasColour = ErrorRenderer.colourIsWanted(
                isTerminal: true, environment: session.context.environment)
            for line in QRCodeText.lines(of: modules, hasColour: hasColour) {
                session.notices.say(LocalizedMessage(verbatim: line))
            }
        } catch {
            session.notices.detail("no QR code: \(error)")
        }
    }

    /// Whether the terminal's character set has the half blocks.
    private var takesBlocks: Bool {
        let environment = session.context.environment
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { GlobalOptions.set($0, environment) }.first
        let name = locale?.lowercased() ?? ""
        return name.contains("utf-8") || name.contains("utf8")
    }
}
