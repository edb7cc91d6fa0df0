package import CredentialCore
import StrictJSON

/// Finds out from a protected resource itself how tokens for it are had (RFC 9728).
package struct ResourceDiscovery: Sendable {
    private let context: AdapterContext
    private let source = MetadataSource()

    /// Makes it for a machine.
    package init(in context: AdapterContext) { self.context = context }

    /// What a resource wants.
    package struct Finding: Sendable {
        /// What the resource tells of itself.
        package var resource: ResourceMetadata
        /// The scopes that its challenge named (RFC 6750 §3).
        package var challengedScope: [String]
        /// Its first authorization server.
        package var server: ServerMetadata
    }

    /// Asks the resource without a token, follows its challenge to its metadata, and from there to the metadata of its
    /// first authorization server.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when it tells nothing of itself; ``ErrorCode/validationFailed`` for metadata
    ///   of another resource or issuer; ``ErrorCode/temporary``; ``ErrorCode/malformedReply``.
    package func find(_ address: WebAddress) throws(CredentialError) -> Finding {
        let response = try context.transport.send(
            HTTPRequest(
                address: address, headers: [("accept", "application/json, */*;q=0.5")], maximumReplySize: 4 << 20))
        let challenge = AuthenticationChallenge.parse(response.values(of: "www-authenticate")).first {
            ["bearer", "dpop"].contains($0.scheme)
        }
        let resource = try metadata(of: address, challenge)
        guard let issuer = resource.issuers.first, let place = WebAddress(issuer), place.isWeb, place.isSecure,
            place.fragment == nil
        else {
            throw CredentialError(
                .validationFailed, "the authorization server of \(address.origin) is not a URL with https")
        }
        return Finding(
            resource: resource,
            challengedScope: Scope.words(challenge?.parameters["scope"] ?? "").filter(Scope.isValid),
            server: try server(issuer, place))
    }

    /// The metadata of an authorization server.
    ///
    /// - Throws: as ``find(_:)``.
    package func server(_ issuer: String, _ address: WebAddress) throws(CredentialError) -> ServerMetadata {
        try source.metadata(of: issuer, address, in: context)
    }

    private func metadata(
        of address: WebAddress, _ challenge: AuthenticationChallenge?
    ) throws(CredentialError) -> ResourceMetadata {
        var places = ResourceMetadata.locations(of: address)
        if let named = challenge?.parameters["resource_metadata"] {
            guard let place = WebAddress(named), place.isWeb, place.isSecure, place.fragment == nil else {
                throw CredentialError(
                    .validationFailed, "the challenge of \(address.origin) points to metadata without https")
            }
            places = [place]
        }
        do throws(CredentialError) {
            return try source.first(of: places, "resource metadata", in: context) {
                (document) throws(CredentialError) in try ResourceMetadata(document, for: address)
            }
        } catch {
            guard error.code == .configuration else { throw error }
            throw CredentialError(
                .unsupported, "\(address.origin) does not say how tokens for it are had (RFC 9728)",
                hint: "define the type by hand: credmgr types add NAME --issuer URL --client-id ID",
                details: error.details)
        }
    }
}
