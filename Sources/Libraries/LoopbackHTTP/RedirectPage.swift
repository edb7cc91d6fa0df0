import CredentialCore

/// The pages a browser shows at the end of its way. None repeats anything of the request.
enum RedirectPage {
    /// Takes the provider's answer, the code above all, out of the address bar and the tab's history. A second
    /// request, for an address without it, could come when nobody listens any more.
    private static let forget = "history.replaceState(null, \"\", location.pathname);"

    /// What became of the sign-in; `nil` for one that takes longer than a browser waits.
    static func outcome(_ outcome: RedirectDesk.Outcome?, nonce: String) -> HTMLPage {
        let title = outcome?.title ?? "credmgr: see the terminal"
        let text = outcome?.text ?? "The sign-in has arrived. The terminal says what became of it."
        return HTMLPage(
            title: title,
            content:
                "<p>\(ForeignText.markup(text))</p>\n<p>You can close this page and return to the terminal.</p>",
            script: forget, nonce: nonce)
    }

    /// A program of another user has brought the redirect. The address stays in the bar: whoever it is meant for pastes
    /// it.
    static func stranger(_ owner: UInt32?) -> HTMLPage {
        let (who, word) =
            if let owner {
                ("a program of another user (uid \(owner))", "uid:\(owner)")
            } else {
                ("a program whose user cannot be known", "any")
            }
        return HTMLPage(
            title: "credmgr: this sign-in was not taken",
            content: """
                <p>The address of this page was sent by \(who). Nothing was changed, and the sign-in still waits.</p>
                <p>If this is your own browser, copy the address of this page and paste it at the terminal, or set \
                <code>"redirect_peers": "\(word)"</code> in credmgr's <code>config.json</code> and sign in again.</p>
                """)
    }

    /// The request is not the one that is waited for.
    static let unexpected = HTMLPage(
        title: "Nothing happened",
        content: "<p>This is not the sign-in that is waited for. Nothing was changed. You can close this page.</p>")

    /// Sends what stands behind `#`, which browsers keep to themselves, to this program.
    static func fragment(nonce: String) -> HTMLPage {
        HTMLPage(
            title: "Waiting for the sign-in",
            content: """
                <p id="state">No sign-in data has arrived here yet. If this page stays, return to the terminal.</p>
                <noscript><p>Allow scripts for this page, or paste the address of this page at the terminal.</p>
                </noscript>
                """,
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
                """, nonce: nonce)
    }
}
