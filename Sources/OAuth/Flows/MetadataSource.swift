public import CredentialCore
public import StrictJSON
import Synchronization

/// Fetches what providers publish, metadata and key sets, and keeps it: in memory for the life of the process, and
/// in the ``MetadataCache`` for the next one. Only a document that has been read and found sound is kept.
public final class MetadataSource: Sendable {
    private let documents = Mutex<[String: PublishedDocument]>([:])

    /// Makes an empty source.
    public init() {}

    /// What is fetched: its name in messages, and the most seconds it serves.
    private struct Kind {
        let name: Message
        let longest: Int64

        static var metadata: Kind { Kind(name: "metadata", longest: 3_600) }
        static var keySet: Kind { Kind(name: "key set", longest: 86_400) }
    }

    /// Seconds between two searches for a key that a key set lacks: tokens with made-up key names must not turn
    /// into requests.
    private static let searchPause: Int64 = 60

    /// The metadata at the first of `locations` that has any.
    ///
    /// - Parameter issuerRule: checks the issuer of the document.
    /// - Throws: ``ErrorCode/configuration`` when no location has metadata; ``ErrorCode/temporary``; what the
    ///   document itself is refused for.
    public func metadata(
        at locations: [WebAddress], in context: AdapterContext,
        issuerRule: (String) throws(CredentialError) -> Void
    ) throws(CredentialError) -> ServerMetadata {
        try first(of: locations, "metadata", in: context) { (document) throws(CredentialError) in
            try ServerMetadata(
                document, isLocal: locations.contains(where: \.isLoopback), issuerRule: issuerRule)
        }
    }

    /// The metadata of an issuer, which must be for it byte for byte.
    ///
    /// - Parameters:
    ///   - address: the issuer, read.
    ///   - needs: the endpoints wanted. Where the first document lacks one, the issuer's others are looked at: a
    ///     provider may publish its revocation or registration in its RFC 8414 document alone.
    ///   - isNamed: whether another party named the issuer: the slash of a bare origin is forgiven then.
    /// - Throws: as ``metadata(at:in:issuerRule:)``; ``ErrorCode/configuration`` says where nothing was;
    ///   ``ErrorCode/validationFailed`` where an endpoint wanted cannot be used.
    public func metadata(
        of issuer: String, _ address: WebAddress, needs: [AccountType.Endpoint] = [], isNamed: Bool = false,
        in context: AdapterContext
    ) throws(CredentialError) -> ServerMetadata {
        let locations = ServerMetadata.locations(of: address)
        let rule = isNamed ? ServerMetadata.namedIssuer(issuer) : ServerMetadata.exactIssuer(issuer)
        do throws(CredentialError) {
            var tried = 0
            var metadata = try first(of: locations, "metadata", in: context) {
                (document) throws(CredentialError) in
                try ServerMetadata(document, isLocal: address.isLoopback, issuerRule: rule)
            } counting: {
                tried += 1
            }
            var needs = needs
            if metadata.demandsPushedRequests, needs.contains(.authorization) {
                needs.append(.pushedAuthorizationRequest)
            }
            for place in locations.dropFirst(tried) where needs.contains(where: { metadata.endpoints[$0] == nil }) {
                metadata.complete(by: try? self.metadata(at: [place], in: context, issuerRule: rule))
            }
            for endpoint in needs { _ = try metadata.usable(endpoint) }
            return metadata
        } catch {
            guard error.code == .configuration, let place = locations.first else { throw error }
            let isDocument = address.path.contains("/.well-known/")
            throw CredentialError(
                .configuration, error.text,
                hint: isDocument
                    ? "the issuer is the address before /.well-known"
                    : "check the issuer, perhaps its path: there is no \(place)", details: error.details)
        }
    }

    /// The document at the first of `locations` that has one, as `read` takes it. A place that answers with anything else
    /// does not end the search. A place that does not answer does: the others are at the same host.
    ///
    /// - Parameters:
    ///   - isAfresh: whether the provider is asked whatever is kept.
    ///   - count: called for each location that is looked at.
    /// - Throws: as ``metadata(at:in:issuerRule:)``.
    func first<Content>(
        of locations: [WebAddress], _ name: Message, isAfresh: Bool = false, in context: AdapterContext,
        read: (JSONObject) throws(CredentialError) -> Content, counting count: () -> Void = {}
    ) throws(CredentialError) -> Content {
        var absence: CredentialError?
        var trouble: CredentialError?
        for location in locations {
            count()
            var isAnswered = false
            do throws(CredentialError) {
                let kind = Kind(name: name, longest: isAfresh ? CacheLifetime.least : Kind.metadata.longest)
                if isAfresh {
                    return try fetch(
                        location, kind, replacing: kept(location, in: context), in: context, read: read
                    ) {
                        isAnswered = true
                    }
                }
                return try content(at: location, kind, in: context, read: read) { isAnswered = true }.content
            } catch {
                // The first place may serve a page or an error for whatever is not there.
                switch error.code {
                case .configuration: absence = absence ?? error
                case .malformedReply: trouble = trouble ?? error
                case .temporary where isAnswered: trouble = trouble ?? error
                default: throw error
                }
            }
        }
        throw trouble ?? absence
            ?? CredentialError(.configuration, "the account type names no place for the provider's \(name)")
    }

    /// The keys that may verify a token; the key set is fetched anew, once, when a kept one has none of the token's name.
    ///
    /// - Throws: ``ErrorCode/temporary``; what the key set itself is refused for.
    public func key(
        for algorithm: SignatureAlgorithm, kid: String?, at address: WebAddress, in context: AdapterContext
    ) throws(CredentialError) -> [JSONObject] {
        let (keys, isNew) = try content(at: address, .keySet, in: context, read: Self.keySet)
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
    public func prepareKeys(at address: WebAddress, in context: AdapterContext) throws(CredentialError) {
        _ = try content(at: address, .keySet, in: context, read: Self.keySet)
    }

    private static func keySet(_ document: JSONObject) throws(CredentialError) -> KeySet { try KeySet(document) }

    // MARK: Keeping

    /// What a document says, and whether it was fetched just now: the kept one serves while it is fresh and sound.
    private func content<Content>(
        at address: WebAddress, _ kind: Kind, in context: AdapterContext,
        read: (JSONObject) throws(CredentialError) -> Content, answered: () -> Void = {}
    ) throws(CredentialError) -> (content: Content, isNew: Bool) {
        let kept = kept(address, in: context)
        if let kept, kept.isFresh(at: context.clock.now), let content = try? read(kept.document) {
            return (content, false)
        }
        return (try fetch(address, kind, replacing: kept, in: context, read: read, answered: answered), true)
    }

    private func kept(_ address: WebAddress, in context: AdapterContext) -> PublishedDocument? {
        let name = address.description
        return documents.withLock { $0[name] } ?? context.metadataCache.read(name)
    }

    private func keep(_ document: PublishedDocument, at address: WebAddress, in context: AdapterContext) {
        let name = address.description
        documents.withLock { $0[name] = document }
        context.metadataCache.write(document, for: name)
    }

    // MARK: Fetching

    private func fetch<Content>(
        _ address: WebAddress, _ kind: Kind, replacing kept: PublishedDocument?, in context: AdapterContext,
        read: (JSONObject) throws(CredentialError) -> Content, answered: () -> Void = {}
    ) throws(CredentialError) -> Content {
        guard address.isSecure else {
            throw CredentialError(.configuration, "'\(address.origin)' is not https")
        }
        var request = HTTPRequest(address: address, headers: [("accept", "application/json")])
        // What cannot be read is no reason to be told that it has not changed.
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
        let place: Message = "\(kind.name) of \(address)"
        switch try EndpointReply.sort(response, from: place) {
        case .object(let document):
            let content = try read(document)
            var fresh = PublishedDocument(
                document: document, fetchedAt: context.clock.now, lifetime: lifetime,
                entityTag: Self.validator("etag", of: response),
                lastModified: Self.validator("last-modified", of: response))
            fresh.soughtAt = kept?.soughtAt
            // The provider may correct a wrong endpoint at any time.
            if (content as? ServerMetadata)?.isSound ?? true { keep(fresh, at: address, in: context) }
            return content
        case .refused(let refusal):
            throw CredentialError(
                .configuration, "the \(place) cannot be had: HTTP status \(refusal.status ?? 0)",
                hint: "check the issuer of the account type", details: RefusalMapping.details(of: refusal))
        }
    }

    /// A validator that can be sent back: printable and short.
    private static func validator(_ name: String, of response: HTTPResponse) -> String? {
        response.value(of: name).flatMap { value in
            value.utf8.count <= 512 && value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? value : nil
        }
    }
}
