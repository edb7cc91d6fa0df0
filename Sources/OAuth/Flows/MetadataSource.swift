package import CredentialCore
package import StrictJSON
import Synchronization

/// Fetches providers' metadata and key sets, and keeps them for the life of the process.
package final class MetadataSource: Sendable {
    private let documents = Mutex<[String: Kept]>([:])

    /// Seconds a metadata document serves.
    private static let metadataLifetime: Int64 = 3_600
    /// Seconds a key set serves, unless a token names a key that is not in it.
    private static let keySetLifetime: Int64 = 86_400

    /// Makes an empty source.
    package init() {}

    private struct Kept {
        let document: JSONObject
        let fetchedAt: Instant
    }

    /// The metadata at the first of `locations` that has any.
    ///
    /// - Parameter issuerRule: checks the issuer of the document.
    /// - Throws: ``ErrorCode/configuration`` when no location has metadata; ``ErrorCode/temporary``; what the
    ///   document itself is refused for.
    package func metadata(
        at locations: [WebAddress], in context: AdapterContext,
        issuerRule: (String) throws(CredentialError) -> Void
    ) throws(CredentialError) -> ServerMetadata {
        var failure: CredentialError?
        for location in locations {
            do throws(CredentialError) {
                let (document, _) = try document(
                    at: location, lifetime: Self.metadataLifetime, what: "metadata", in: context)
                return try ServerMetadata(document, issuerRule: issuerRule)
            } catch {
                guard error.code == .configuration else { throw error }
                failure = failure ?? error
            }
        }
        throw failure
            ?? CredentialError(.configuration, "the account type names no place for the provider's metadata")
    }

    /// The key that verifies a token; the key set is fetched anew, once, when a kept one has no such key.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when several keys fit; ``ErrorCode/temporary``.
    package func key(
        for algorithm: SignatureAlgorithm, kid: String?, at address: WebAddress, in context: AdapterContext
    ) throws(CredentialError) -> JSONObject? {
        let (document, isFresh) = try document(
            at: address, lifetime: Self.keySetLifetime, what: "key set", in: context)
        if let key = try KeySet(document).key(for: algorithm, kid: kid) { return key }
        if isFresh { return nil }
        context.note("the provider's keys are fetched again: a token names one that is not known")
        let (newer, _) = try self.document(at: address, lifetime: 0, what: "key set", in: context)
        return try KeySet(newer).key(for: algorithm, kid: kid)
    }

    /// Makes sure that a key set is at hand, so that no reply that cannot be had again waits for it.
    ///
    /// - Throws: ``ErrorCode/temporary``, ``ErrorCode/configuration``.
    package func prepareKeys(at address: WebAddress, in context: AdapterContext) throws(CredentialError) {
        _ = try document(at: address, lifetime: Self.keySetLifetime, what: "key set", in: context)
    }

    /// A document and whether it has been fetched just now.
    private func document(
        at address: WebAddress, lifetime: Int64, what: String, in context: AdapterContext
    ) throws(CredentialError) -> (JSONObject, isFresh: Bool) {
        let name = address.description
        let now = context.clock.now
        if let kept = documents.withLock({ $0[name] }), (0..<lifetime).contains(now.seconds(since: kept.fetchedAt))
        {
            return (kept.document, false)
        }
        guard address.isSecure else {
            throw CredentialError(.configuration, "'\(address.origin)' is not https")
        }
        let place = "\(what) of \(address.origin)"
        let response = try context.transport.send(
            HTTPRequest(address: address, headers: [("accept", "application/json")]))
        switch try EndpointReply.sort(response, from: place) {
        case .object(let document):
            documents.withLock { $0[name] = Kept(document: document, fetchedAt: now) }
            return (document, true)
        case .refused(let refusal):
            throw CredentialError(
                .configuration, "the \(place) cannot be had: HTTP status \(refusal.status ?? 0)",
                hint: "check the issuer of the account type", details: RefusalMapping.details(of: refusal))
        }
    }
}
