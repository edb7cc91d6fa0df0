/// The pages a browser shows at the end of its way. None repeats anything of the request.
enum RedirectPage {
    /// Takes the provider's answer, the code above all, out of the address bar and the tab's history. A second
    /// request, for an address without it, could come when nobody listens any more.
    private static let forget = "history.replaceState(null, \"\", location.pathname);"

    /// The sign-in reached this program.
    static func received(nonce: String) -> HTMLPage {
        HTMLPage(
            title: "Sign-in received", content: "<p>You can close this page and return to the terminal.</p>",
            script: forget, nonce: nonce)
    }

    /// The provider reported that there is no sign-in.
    static func refused(nonce: String) -> HTMLPage {
        HTMLPage(
            title: "Not signed in",
            content: """
                <p>The sign-in was cancelled or refused. The terminal says why.</p>
                <p>You can close this page and return to the terminal.</p>
                """, script: forget, nonce: nonce)
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
