import CredentialCore

/// A page of our own: plain, accessible, self-contained, light and dark.
package struct HTMLPage: Sendable {
    /// The title of the page; also its heading. Plain text, escaped here.
    package var title: String
    /// The markup below the heading. The code that makes it escapes foreign text in it by
    /// ``UntrustedText/markup(_:)``.
    package var content: String
    /// The language of both (BCP 47).
    package var language: String
    /// A script of our own, allowed by ``nonce``; most pages have no script.
    package var script: String?
    /// An unpredictable word that allows ``script``.
    package var nonce: String?

    /// Makes a page.
    package init(
        title: String, content: String, language: String = "en", script: String? = nil, nonce: String? = nil
    ) {
        self.title = title
        self.content = content
        self.language = language
        self.script = script
        self.nonce = nonce
    }

    /// The page as a reply.
    ///
    /// - Parameters:
    ///   - formTargets: the CSP `form-action` sources. Browsers apply it to the redirects after a form as well, so
    ///     a page whose form ends at another origin passes `nil` for no restriction.
    ///   - referrerPolicy: `no-referrer`, but for a page that posts to its own server: with it a browser sends
    ///     `Origin: null`.
    package func response(
        _ status: Int, formTargets: String? = "'none'", referrerPolicy: String = "no-referrer",
        afterSent: (@Sendable () -> Void)? = nil
    ) -> ServerResponse {
        var policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
        if let nonce { policy += "; script-src 'nonce-\(nonce)'" }
        if let formTargets { policy += "; form-action \(formTargets)" }
        return ServerResponse(
            status: status,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy),
                ("Referrer-Policy", referrerPolicy),
            ], body: Array(markup.utf8), afterSent: afterSent)
    }

    private var markup: String {
        var scripts = ""
        if let script, let nonce { scripts = "<script nonce=\"\(nonce)\">\(script)</script>\n" }
        let title = UntrustedText.markup(title)
        return """
            <!DOCTYPE html>
            <html lang="\(UntrustedText.markup(language))">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
            \(content)
            </main>
            \(scripts)</body>
            </html>

            """
    }

    private static let style = """
        :root { color-scheme: light dark; }
        body { margin: 0; font: 1.125rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; }
        main { max-width: 34rem; margin: 0 auto; padding: 4rem 1.5rem; }
        h1 { font-size: 1.75rem; line-height: 1.2; }
        label { display: block; margin-top: 1rem; }
        input, button { font: inherit; padding: .5rem .75rem; box-sizing: border-box; }
        input { width: 100%; border: 1px solid #595959; border-radius: .25rem; }
        button { margin: 1.5rem 1rem 0 0; color: #fff; background: #0b57d0; border: 0; border-radius: .25rem; }
        a { color: #0b57d0; }
        .error { padding: .5rem .75rem; border-left: .25rem solid #b3261e; }
        :focus-visible { outline: 3px solid #0b57d0; outline-offset: 2px; }
        @media (prefers-color-scheme: dark) {
        body { color: #f2f2f2; background: #121212; }
        a { color: #a8c7fa; }
        input { border-color: #a6a6a6; }
        button { color: #062e6f; background: #a8c7fa; }
        .error { border-color: #f2b8b5; }
        :focus-visible { outline-color: #a8c7fa; }
        }
        """
}
