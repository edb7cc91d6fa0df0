public import CredentialCore
public import StrictJSON
import Synchronization

/// Fetches the documents that providers publish, metadata and key sets, and keeps them: in memory for the life of
/// the process, and in the ``MetadataCache`` for the next one. Only a document that passes validation is kept, and
/// it is validated again at each use.
public final class MetadataFetcher: Sendable {
    private let documents: Documents
    private let isForGrants: Bool

    /// The documents in memory.
    private final class Documents: Sendable {
        let byAddress = Mutex<[String: ProviderDocument]>([:])
    }

    private init(_ documents: Documents, isForGrants: Bool) {
        self.documents = documents
        self.isForGrants = isForGrants
    }

    /// Makes an empty source.
    public convenience init() { self.init(Documents(), isForGrants: false) }

    /// The same source for a grant that exists, as for its refresh: metadata serves for a day without a request,
    /// and all documents for up to a week if the provider does not send them. A well-known place that is down stops
    /// no refresh.
    public var forGrants: MetadataFetcher { MetadataFetcher(documents, isForGrants: true) }

    /// The kind of document that is fetched: its name in messages, the most seconds it serves, and for how many it
    /// serves a grant.
    private struct Kind {
        let name: LocalizedMessage
        let longest: Int64
        var forGrants: Int64 = 0

        static var metadata: Kind { Kind(name: "metadata", longest: 3_600, forGrants: 86_400) }
        static var keySet: Kind { Kind(name: "key set", longest: 86_400) }
    }

    /// The greatest age in seconds of a document that serves a grant while the provider does not send it.
    private static let greatestAge: Int64 = 604_800

    /// Seconds between two searches for a key that a key set lacks: tokens with made-up key names must not turn
    /// into requests.
    private static let searchPause: Int64 = 60

    /// The metadata at the first of `locations` that has any.
    ///
    /// - Parameter issuerRule: checks the issuer of the document.
    /// - Throws: ``ErrorCode/configuration`` when no location has metadata; ``ErrorCode/temporary``; the error that
    ///   the document itself is refused with.
    public func metadata(
        at locations: [URI], in context: AdapterContext,
        issuerRule: (String) throws(CredentialError) -> Void
    ) throws(CredentialError) -> ServerMetadata {
        try first(of: locations, "metadata", in: context) { (document) throws(CredentialError) in
            try ServerMetadata(
                document, from: locations.first, issuerRule: issuerRule)
        }.content
    }

    /// The metadata of an issuer, which must be for it byte for byte.
    ///
    /// - Parameters:
    ///   - address: the issuer, read.
    ///   - needs: the endpoints wanted. If the first document lacks one, the issuer's others are read: a provider
    ///     may publish its revocation or registration in its RFC 8414 document alone.
    ///   - spelling: how much the document's issuer may differ from the one asked for.
    /// - Throws: as ``metadata(at:in:issuerRule:)``; ``ErrorCode/configuration`` names the locations without a
    ///   document; ``ErrorCode/validationFailed`` if a needed endpoint cannot be used.
    public func metadata(
        of issuer: String, _ address: URI, needs: [AccountType.Endpoint] = [],
        spelling: ServerMetadata.IssuerSpelling = .exact, in context: AdapterContext
    ) throws(CredentialError) -> ServerMetadata {
        let locations = ServerMetadata.locations(of: address)
        let rule = ServerMetadata.issuerRule(issuer, spelling)
        do throws(CredentialError) {
            let found = try first(of: locations, "metadata", in: context) {
                (document) throws(CredentialError) in
                try ServerMetadata(document, from: address, issuerRule: rule)
            }
            var metadata = found.content
            var needs = needs
            if metadata.demandsPushedRequests, needs.contains(.authorization) {
                needs.append(.pushedAuthorizationRequest)
            }
            for place in locations
            where place != found.place && needs.contains(where: { metadata.endpoints[$0] == nil }) {
                metadata.complete(by: try? self.metadata(at: [place], in: context, issuerRule: rule))
            }
            for endpoint in needs { _ = try metadata.usable(endpoint) }
            return metadata
        } catch {
            guard error.code == .configuration, !error.isBeforeRequest, let place = locations.first else {
                throw error
            }
            let isDocument = address.path.contains("/.well-known/")
            throw CredentialError(
                .configuration, error.text,
                hint: isDocument
                    ? "use the URL before /.well-known as the issuer"
                    : "check the issuer and its path: \(place) does not exist", details: error.details)
        }
    }

    /// The document at the first of `locations` that has one, as `read` takes it. A place that answers with
    /// anything else does not end the search. A place that does not answer does: the others are at the same host.
    ///
    /// - Parameter isAfresh: whether the provider is asked even if a document is kept.
    /// - Returns: the result of `read` for the document, and the location of it.
    /// - Throws: as ``metadata(at:in:issuerRule:)``.
    func first<Content>(
        of locations: [URI], _ name: LocalizedMessage, isAfresh: Bool = false, in context: AdapterContext,
        read: (JSONObject) throws(CredentialError) -> Content
    ) throws(CredentialError) -> (content: Content, place: URI) {
        var kind = Kind.metadata
        if isAfresh {
            kind = Kind(name: name, longest: CacheLifetime.least)
        } else if let kept = keptContent(of: locations, kind, in: context, read: read) {
            // A place that has no document would be asked again by each process, since its absence is not kept.
            return kept
        }
        var absence: CredentialError?
        var trouble: CredentialError?
        for location in locations {
            var isAnswered = false
            do throws(CredentialError) {
                let content = try fetch(
                    location, kind, replacing: kept(location, in: context), in: context, read: read
                ) {
                    isAnswered = true
                }
                return (content, location)
            } catch {
                // The first location may serve a page or an error for a document that does not exist.
                switch error.code {
                case .configuration where !error.isBeforeRequest: absence = absence ?? error
                case .malformedReply: trouble = trouble ?? error
                case .temporary where isAnswered: trouble = trouble ?? error
                default:
                    if error.code == .temporary,
                        let kept = keptContent(of: locations, kind, isAgeForgiven: true, in: context, read: read)
                    {
                        return kept
                    }
                    throw error
                }
            }
        }
        if let kept = keptContent(of: locations, kind, isAgeForgiven: true, in: context, read: read) { return kept }
        throw trouble ?? absence
            ?? CredentialError(.configuration, "the account type has no URL for the provider's \(name)")
    }

    /// Returns the content of a kept document of the first location that has one.
    ///
    /// - Parameter isAgeForgiven: whether a document past its lifetime serves if the provider does not send a new
    ///   one.
    private func keptContent<Content>(
        of locations: [URI], _ kind: Kind, isAgeForgiven: Bool = false, in context: AdapterContext,
        read: (JSONObject) throws(CredentialError) -> Content
    ) -> (content: Content, place: URI)? {
        guard !isAgeForgiven || isForGrants else { return nil }
        let now = context.clock.now
        for location in locations {
            guard let kept = kept(location, in: context) else { continue }
            let serves: Bool
            if isAgeForgiven {
                serves = kept.isNewer(than: Self.greatestAge, at: now)
            } else {
                // The lifetime in a file is limited as that of a response is.
                let age = isForGrants ? max(kept.lifetime, kind.forGrants) : kept.lifetime
                serves = kept.isNewer(than: min(age, max(kind.longest, isForGrants ? kind.forGrants : 0)), at: now)
            }
            if serves, let content = try? read(kept.document) {
                if isAgeForgiven {
                    context.note("the provider does not send its \(kind.name); credmgr uses what it sent before")
                }
                return (content, location)
            }
        }
        return nil
    }

    /// The keys that may verify a token; the key set is fetched again, once, when a kept one has no key of the
    /// token's name.
    ///
    /// - Throws: ``ErrorCode/temporary``; the error that the key set itself is refused with.
    public func key(
        for algorithm: SignatureAlgorithm, kid: String?, at address: URI, in context: AdapterContext
    ) throws(CredentialError) -> [JSONObject] {
        let (keys, isNew) = try keySet(at: address, in: context)
        let found = keys.candidates(for: algorithm, kid: kid)
        if found.areNamed || (kid == nil && !found.keys.isEmpty) { return found.keys }
        let now = context.clock.now
        guard !isNew, var kept = kept(address, in: context),
            kept.soughtAt.map({ !(0..<Self.searchPause).contains(now.seconds(since: $0)) }) ?? true
        else { return found.keys }
        context.note("the provider's keys are fetched again: a token names one that is not known")
        kept.soughtAt = now
        keep(kept, at: address, in: context)
        return try fetch(address, .keySet, replacing: kept, in: context, read: Self.keySet)
            .candidates(for: algorithm, kid: kid).keys
    }

    /// Makes sure that a key set is at hand, so that no reply that cannot be had again waits for it.
    ///
    /// - Throws: ``ErrorCode/temporary``, ``ErrorCode/configuration``.
    public func prepareKeys(at address: URI, in context: AdapterContext) throws(CredentialError) {
        _ = try keySet(at: address, in: context)
    }

    private static func keySet(_ document: JSONObject) throws(CredentialError) -> JWKSet { try JWKSet(document) }

    // MARK: Keeping

    /// Returns the content of a key set, and whether it was fetched just now: the kept one serves while it is fresh
    /// and valid.
    private func keySet(
        at address: URI, in context: AdapterContext
    ) throws(CredentialError) -> (keys: JWKSet, isNew: Bool) {
        if let kept = keptContent(of: [address], .keySet, in: context, read: Self.keySet) {
            return (kept.content, false)
        }
        do throws(CredentialError) {
            let kept = kept(address, in: context)
            return (try fetch(address, .keySet, replacing: kept, in: context, read: Self.keySet), true)
        } catch {
            guard [.temporary, .configuration, .malformedReply].contains(error.code),
                let kept = keptContent(
                    of: [address], .keySet, isAgeForgiven: true, in: context, read: Self.keySet)
            else { throw error }
            return (kept.content, true)
        }
    }

    private func kept(_ address: URI, in context: AdapterContext) -> ProviderDocument? {
        let name = address.description
        return documents.byAddress.withLock { $0[name] } ?? context.metadataCache.read(name)
    }

    private func keep(_ document: ProviderDocument, at address: URI, in context: AdapterContext) {
        let name = address.description
        documents.byAddress.withLock { $0[name] = document }
        context.metadataCache.write(document, for: name)
    }

    // MARK: Fetching

    private func fetch<Content>(
        _ address: URI, _ kind: Kind, replacing kept: ProviderDocument?, in context: AdapterContext,
        read: (JSONObject) throws(CredentialError) -> Content, answered: () -> Void = {}
    ) throws(CredentialError) -> Content {
        guard address.isSecure else {
            throw AddressAuthor.refusal(
                "'\(address.origin)' is not an https URL", of: address.origin,
                by: address.author.party ?? LocalizedMessage(verbatim: "the user"), rule: .https,
                code: address.author == .user ? .configuration : .validationFailed)
        }
        var request = HTTPRequest(address: address, headers: [("accept", "application/json")])
        // A kept document that cannot be read must not be confirmed as unchanged.
        let usable = kept.flatMap { kept in (try? read(kept.document)).map { (kept: kept, content: $0) } }
        if let kept = usable?.kept {
            if let tag = kept.entityTag { request.headers.append(("if-none-match", tag)) }
            if let time = kept.lastModified { request.headers.append(("if-modified-since", time)) }
        }
        let response = try context.transport.send(request)
        answered()
        let lifetime = CacheLifetime.seconds(of: response, atMost: kind.longest)
        if response.status == 304, let usable {
            var kept = usable.kept
            kept.fetchedAt = context.clock.now
            kept.lifetime = lifetime
            keep(kept, at: address, in: context)
            return usable.content
        }
        let place: LocalizedMessage = "\(kind.name) of \(address)"
        switch try EndpointResponse.sort(response, from: place) {
        case .object(let document):
            let content = try read(document)
            var fresh = ProviderDocument(
                document: document, fetchedAt: context.clock.now, lifetime: lifetime,
                entityTag: Self.validator("etag", of: response),
                lastModified: Self.validator("last-modified", of: response))
            fresh.soughtAt = kept?.soughtAt
            // The provider may correct a wrong endpoint at any time.
            if (content as? ServerMetadata)?.isSound ?? true { keep(fresh, at: address, in: context) }
            return content
        case .refused(let refusal):
            throw CredentialError(
                .configuration, "cannot get the \(place): HTTP status \(refusal.status ?? 0)",
                hint: "check the issuer of the account type", details: OAuthErrorMapping.details(of: refusal))
        }
    }

    /// A validator that can be sent back: printable and short.
    private static func validator(_ name: String, of response: HTTPResponse) -> String? {
        response.value(of: name).flatMap { value in
            value.utf8.count <= 512 && value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? value : nil
        }
    }
}
