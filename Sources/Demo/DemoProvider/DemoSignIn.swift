package import CredentialCore
import LoopbackHTTP

/// A robot in the browser's place: it signs a demo user in through the provider's real pages.
///
/// It keeps cookies like a browser, so that a second sign-in with the same robot may be silent.
package struct DemoSignIn: Sendable {
    /// The action of the user on the page.
    package enum Act: Sendable {
        /// Fills the form in. Signing up and editing the profile need the display name.
        case submit(name: String = "")
        /// Follows "Cancel".
        case cancel
        /// Follows "Forgot your password?".
        case forgotPassword
    }

    private let username: String
    private let password: Secret
    private let client = LoopbackClient()
    private var cookies: [(name: String, value: String)] = []

    /// A robot for one user, with no cookies yet.
    package init(username: String, password: Secret) {
        self.username = username
        self.password = password
    }

    /// Goes from the authorization URL to the redirect URI.
    ///
    /// - Parameter delivers: whether the redirect is requested as a browser would, when it is one to the loopback;
    ///   else it is only returned.
    /// - Returns: the URL the browser ended at: the redirect URI with the provider's answer. With
    ///   `response_mode=form_post` the response is in the query as well.
    /// - Throws: ``ErrorCode/denied`` when the provider shows a page instead of going on (a wrong password, a
    ///   redirect URI that is not registered), and the errors of ``LoopbackClient/send(_:_:headers:body:)``.
    package mutating func run(
        _ authorizationURL: String, act: Act = .submit(), delivers: Bool = true
    ) throws(CredentialError) -> String {
        let suffix =
            switch act {
            case .submit: ""
            case .cancel: "&demo_action=cancel"
            case .forgotPassword: "&demo_action=forgot"
            }
        var response = try request("GET", authorizationURL + suffix)
        let origin = URI(authorizationURL)?.origin ?? ""
        if case .submit(let name) = act, response.status == 200, let form = HTMLForm(text(response)),
            form.action.hasPrefix("/")
        {
            var fields = FormFields([("username", username), ("password", password.reveal())])
            if !name.isEmpty { fields.add("name", name) }
            response = try request("POST", origin + form.action, form: fields, origin: origin)
        }
        if response.status == 302, let location = response.value(of: "location") {
            if delivers { try deliver(location) }
            return location
        }
        if response.status == 200, let form = HTMLForm(text(response)), !form.action.hasPrefix("/") {
            let answer = FormFields(form.inputs)
            if delivers { _ = try request("POST", form.action, form: answer, origin: origin) }
            return form.action + "?" + answer.encoded()
        }
        throw CredentialError(
            .denied, "the demo provider did not let \(UntrustedText.shown(username)) in (status \(response.status))"
        )
    }

    /// Requests a redirect URI on the loopback; a fragment is posted, as the page there would do.
    private mutating func deliver(_ location: String) throws(CredentialError) {
        guard let address = URI(location), address.isWeb, address.isLoopback else { return }
        guard let fragment = address.fragment else {
            _ = try request("GET", location)
            return
        }
        let page = String(location.prefix { $0 != "#" })
        _ = try request("GET", page)
        _ = try request("POST", page, form: FormFields(query: fragment), origin: address.origin)
    }

    private mutating func request(
        _ method: String, _ url: String, form: FormFields? = nil, origin: String? = nil
    ) throws(CredentialError) -> HTTPResponse {
        var headers: [(name: String, value: String)] = []
        if !cookies.isEmpty {
            headers.append(("Cookie", cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")))
        }
        if form != nil { headers.append(("Content-Type", "application/x-www-form-urlencoded")) }
        if let origin { headers.append(("Origin", origin)) }
        let response = try client.send(
            method, url, headers: headers, body: form.map { Array($0.encoded().utf8) } ?? [])
        for cookie in response.values(of: "set-cookie") { keep(cookie) }
        return response
    }

    private mutating func keep(_ cookie: String) {
        let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2 else { return }
        cookies.removeAll { $0.name == pair[0] }
        if !pair[1].isEmpty { cookies.append((String(pair[0]), String(pair[1]))) }
    }

    private func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }
}
