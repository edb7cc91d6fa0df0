import CredentialCore
import OAuth

/// The origins that `request` may send a type's token to: those of `api_base` and `api_origins`.
struct RequestOrigins: Sendable {
    private let typeName: String
    private let base: WebAddress?
    private let allowed: Set<String>

    /// Reads them from a type.
    init(of type: AccountType) throws(CredentialError) {
        typeName = type.name
        base = type.apiBase.flatMap(WebAddress.init)
        allowed = Set(([type.apiBase] + type.apiOrigins).compactMap { $0.flatMap(WebAddress.init)?.origin })
    }

    /// The address meant by `text`: absolute, or joined to `api_base`.
    func address(of text: String, query: [(name: String, value: String)]) throws(CredentialError) -> WebAddress {
        var address: WebAddress
        if let absolute = WebAddress(text), absolute.isWeb {
            address = absolute
        } else {
            guard let base else {
                throw CredentialError(
                    .usage, "a relative URL needs an api_base, which account type \(typeName) does not have",
                    hint: "give the whole URL, or add api_base to the type")
            }
            let basePath = base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
            let joined = base.origin + basePath + (text.hasPrefix("/") ? text : "/" + text)
            guard let whole = WebAddress(joined), whole.origin == base.origin else {
                throw CredentialError(.usage, "'\(ForeignText.shown(text))' is not a URL or a path")
            }
            address = whole
        }
        if !query.isEmpty { address = address.appending(query: FormCoding.encode(query)) }
        try check(address)
        return address
    }

    /// Whether the token may go to `address`.
    func allows(_ address: WebAddress) -> Bool { address.isSecure && allowed.contains(address.origin) }

    /// Refuses an address that may not have the token.
    func check(_ address: WebAddress) throws(CredentialError) {
        guard !allows(address) else { return }
        guard address.isSecure else {
            throw CredentialError(.denied, "a token is not sent over plain http to \(address.host)")
        }
        throw CredentialError(
            .denied, "a token of account type \(typeName) is not sent to \(address.origin)",
            hint: "allowed is what api_base and api_origins of the type name: credmgr types show \(typeName)")
    }

    /// A `Location` header against the address it came from (RFC 3986 §5.2, without dot segments).
    static func resolve(_ location: String, against address: WebAddress) -> WebAddress? {
        if let absolute = WebAddress(location) { return absolute.isWeb ? absolute : nil }
        if location.hasPrefix("//") { return WebAddress(address.scheme + ":" + location) }
        if location.hasPrefix("/") { return WebAddress(address.origin + location) }
        if location.hasPrefix("?") { return WebAddress(address.origin + address.path + location) }
        let folder = address.path.lastIndex(of: "/").map { String(address.path[...$0]) } ?? "/"
        return WebAddress(address.origin + folder + location)
    }
}
