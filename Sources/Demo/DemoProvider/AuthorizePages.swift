import CredentialCore
import LoopbackHTTP

/// The pages of the authorization endpoint.
enum AuthorizePages {
    /// The form of a policy.
    ///
    /// - Parameters:
    ///   - address: the target of the form: the address of the page itself.
    ///   - problem: why the last try failed.
    static func form(_ policy: DemoPolicy, address: String, username: String, problem: String?) -> ServerResponse {
        let action = UntrustedText.markup(address)
        var content = ""
        if let problem { content += "<p class=\"error\" role=\"alert\">\(UntrustedText.markup(problem))</p>\n" }
        content += """
            <form method="post" action="\(action)">
            <label for="username">Email address</label>
            <input id="username" name="username" type="email" autocomplete="username" required \
            value="\(UntrustedText.markup(username))">
            <label for="password">\(policy.kind == .resetPassword ? "New password" : "Password")</label>
            <input id="password" name="password" type="password" required \
            autocomplete="\(policy.kind == .signIn ? "current-password" : "new-password")">

            """
        if policy.kind == .signUp || policy.kind == .editProfile {
            content += """
                <label for="name">Display name</label>
                <input id="name" name="name" type="text" autocomplete="name" required value="">

                """
        }
        content += "<button type=\"submit\">\(button(policy))</button>\n</form>\n"
        content += "<p><a id=\"cancel\" href=\"\(action)&amp;demo_action=cancel\">Cancel</a></p>\n"
        if policy.kind == .signIn || policy.kind == .facebook {
            content += """
                <p><a id="forgot" href="\(action)&amp;demo_action=forgot">Forgot your password?</a></p>

                """
        }
        // The form ends at the client's own address, which `form-action` would have to name.
        return HTMLPage(title: title(policy), content: content)
            .response(200, formTargets: nil, referrerPolicy: "same-origin")
    }

    /// A page that posts the answer to the client (OAuth 2.0 Form Post Response Mode).
    static func post(_ answer: FormFields, to uri: String, nonce: String) -> ServerResponse {
        var content = "<form id=\"answer\" method=\"post\" action=\"\(UntrustedText.markup(uri))\">\n"
        for field in answer.fields {
            content += "<input type=\"hidden\" name=\"\(UntrustedText.markup(field.name))\" "
            content += "value=\"\(UntrustedText.markup(field.value))\">\n"
        }
        content += "<button type=\"submit\">Continue</button>\n</form>\n"
        return HTMLPage(
            title: "Continue to the application", content: content,
            script: "document.getElementById(\"answer\").submit();", nonce: nonce
        ).response(200, formTargets: nil, referrerPolicy: "origin")
    }

    private static func title(_ policy: DemoPolicy) -> String {
        switch policy.kind {
        case .signUp: "Sign up"
        case .signIn, .password: "Sign in"
        case .facebook: "Sign in with Facebook"
        case .editProfile: "Edit your profile"
        case .resetPassword: "Reset your password"
        }
    }

    private static func button(_ policy: DemoPolicy) -> String {
        switch policy.kind {
        case .signUp: "Create"
        case .signIn, .facebook, .password: "Sign in"
        case .editProfile, .resetPassword: "Continue"
        }
    }
}
