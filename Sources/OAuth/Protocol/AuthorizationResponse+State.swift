import CredentialCore

extension AuthorizationResponse {
    /// The `state` in a redirected URL, in its query or fragment, or in parameters alone, by which a pending sign-in is
    /// found before anything else of it is believed; `nil` when there is none, or more than one.
    package static func state(in redirected: String) -> String? {
        let texts = WebAddress(redirected).map { [$0.query, $0.fragment].compactMap(\.self) } ?? [redirected]
        let states = texts.flatMap { text in
            (FormCoding.decode(text.drop { $0 == "?" || $0 == "#" }) ?? []).filter { $0.name == "state" }
        }
        return states.count == 1 ? states.first?.value : nil
    }
}
