import CredentialCore
import OAuth

/// Leaves explicit endpoints out of a definition that are those of the issuer's metadata: each one that stays makes
/// the definition another registration.
struct ExplicitEndpoints {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// Leaves out those that are equal, and reports it.
    ///
    /// - Parameters:
    ///   - type: the definition.
    ///   - keys: the endpoints that may be left out; all for `nil`.
    ///   - known: the issuer's metadata, if they were asked for already.
    ///   - isTrusted: whether the issuer may be asked with the certificate authorities and the proxy of the
    ///     definition.
    func leaveOut(
        of type: inout AccountType, among keys: Set<AccountType.Endpoint>? = nil, known: ServerMetadata? = nil,
        isTrusted: Bool
    ) {
        let explicit = type.endpoints.filter { keys?.contains($0.key) ?? true }
        guard type.adapter == "oauth2", !explicit.isEmpty, let issuer = type.issuer,
            let address = URI(issuer)
        else { return }
        let metadata: ServerMetadata
        do throws(CredentialError) {
            if let known {
                metadata = known
            } else {
                let context = session.services(session.stores(mayPrompt: false)).adapterContext
                metadata = try MetadataFetcher().metadata(
                    of: issuer, address, needs: [],
                    in: isTrusted ? context.connected(by: ConnectionSettings(of: type)) : context)
            }
        } catch {
            session.notices.note(
                "explicit endpoints stay in the definition: cannot get the metadata of its issuer: \(error.text)")
            return
        }
        for (endpoint, text) in explicit.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where metadata.endpoints[endpoint].map({ $0 == URI(text) }) ?? false {
            type.endpoints[endpoint] = nil
            session.notices.note("\(endpoint.rawValue) is left out: the issuer's metadata has the same value")
        }
    }
}
