import CredentialCore

/// The pages a browser shows at the end of its way, in the person's language. No page repeats any part of the
/// request.
struct RedirectPages: Sendable {
    let translations: any Translations
    /// Allows the scripts of the pages.
    let nonce: String

    /// Takes the provider's answer, the code above all, out of the address bar and the tab's history. A second
    /// request, for an address without it, could come after the listener has ended.
    private static let forget = "history.replaceState(null, \"\", location.pathname);"

    /// Returns the page for the outcome of the sign-in; the outcome is `nil` for a sign-in that takes longer than a
    /// browser waits.
    func outcome(_ outcome: RedirectHandler.Outcome?) -> HTMLPage {
        let text = outcome?.text ?? "credmgr has received the sign-in. The terminal shows the result."
        return page(
            outcome?.title ?? "credmgr: see the terminal",
            "<p>\(UntrustedText.markup(UntrustedText.shown(text.text(in: translations), limit: 500)))</p>\n"
                + paragraph("You can close this page and return to the terminal."),
            script: Self.forget)
    }

    /// A program of another user has brought the redirect. The address stays in the bar, so that its user can paste
    /// it.
    func stranger(_ owner: UInt32?) -> HTMLPage {
        let word = owner.map { "uid:\($0)" } ?? "any"
        let (setting, file) = ("<code>\"redirect_peers\": \"\(word)\"</code>", "<code>config.json</code>")
        let sent: LocalizedMessage =
            if let owner {
                "A program of a different user (uid \(owner)) sent the address of this page. Nothing was changed, "
                    + "and credmgr still waits for the sign-in."
            } else {
                "A program of an unknown user sent the address of this page. Nothing was changed, and credmgr "
                    + "still waits for the sign-in."
            }
        return page(
            "credmgr: this sign-in was not accepted",
            paragraph(sent)
                + paragraph(
                    "If this is your own browser, copy the address of this page and paste it at the terminal, or set \(setting) in credmgr's \(file) and sign in again."
                ))
    }

    /// The request is not the one that is waited for.
    var unexpected: HTMLPage {
        page(
            "Nothing happened",
            paragraph("credmgr does not wait for this sign-in. Nothing was changed. You can close this page."))
    }

    /// A paragraph; the arguments of the message are markup.
    private func paragraph(_ message: LocalizedMessage) -> String { "<p>\(message.text(in: translations))</p>\n" }

    private func page(_ title: LocalizedMessage, _ content: String, script: String? = nil) -> HTMLPage {
        HTMLPage(
            title: title.text(in: translations), content: content,
            language: LocalizedMessage.languageOfPages.text(in: translations),
            script: script, nonce: script.map { _ in nonce })
    }

    /// Sends the text after `#`, which browsers keep to themselves, to this program.
    var fragment: HTMLPage {
        let state: LocalizedMessage =
            "No sign-in data has arrived here yet. If this page stays, return to the terminal."
        return page(
            "Waiting for the sign-in",
            "<p id=\"state\">\(state.text(in: translations))</p>\n<noscript>"
                + paragraph("Allow scripts for this page, or paste the address of this page at the terminal.")
                + "</noscript>",
            script: """
                const data = location.hash.slice(1);
                if (data.length > 0) {
                  history.replaceState(null, "", location.pathname);
                  const form = document.createElement("form");
                  form.method = "post";
                  for (const [name, value] of new URLSearchParams(data)) {
                    const input = document.createElement("input");
                    input.type = "hidden";
                    input.name = name;
                    input.value = value;
                    form.append(input);
                  }
                  document.body.append(form);
                  HTMLFormElement.prototype.submit.call(form);
                }
                """)
    }
}
