import CredentialCore
import OAuth

/// The `state` of a redirect, by which a pending sign-in is found before anything else of it is believed.
enum RedirectState {
    /// The state in a redirected URL, in its query or fragment, or in parameters alone; `nil` when there is none, or
    /// more than one.
    static func value(in redirected: String) -> String? {
        let address = WebAddress(redirected)
        let texts = address.map { [$0.query, $0.fragment].compactMap(\.self) } ?? [redirected]
        let states = texts.flatMap { text in
            (FormCoding.decode(text.drop { $0 == "?" || $0 == "#" }) ?? []).filter { $0.name == "state" }
        }
        return states.count == 1 ? states.first?.value : nil
    }

    /// Whether a redirected URL carries `state`.
    static func isPresent(_ state: String, in redirected: String) -> Bool {
        value(in: redirected).map { ConstantTime.equal($0, state) } ?? false
    }
}
