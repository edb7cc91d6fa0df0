import CredentialCore
import OAuth
import StrictJSON

/// The notice before the page opens of an authorization server that only an API named: whose page it is, who
/// receives the tokens, and which scopes.
enum ServerNotice {
    /// The text; `nil` for a server that the user named.
    static func text(
        _ request: SignInRequest, _ interaction: Interaction, _ pending: JSONObject
    ) -> LocalizedMessage? {
        let type = request.type
        guard type.issuerIsNamedByAPI, let issuer = type.issuer else { return nil }
        let page: URI
        switch interaction {
        case .openURL(let address, _): page = address
        case .showCode(_, let address, _, _, _): page = address
        default: return nil
        }
        let receiver = pending["token_endpoint"]?.string.flatMap(URI.init)?.origin ?? issuer
        let api = type.apiBase.flatMap(URI.init)?.origin ?? type.name
        let scope = UntrustedText.shown(request.scope.joined(separator: " "))
        return
            "\(api) names the authorization server \(UntrustedText.shown(issuer)). The page is of \(page.origin); \(UntrustedText.shown(receiver)) receives the tokens; scope: \(scope.isEmpty ? "-" : scope)"
    }
}
