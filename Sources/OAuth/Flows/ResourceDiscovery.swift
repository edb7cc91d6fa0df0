package import CredentialCore
import StrictJSON

/// Asks a protected resource itself how to obtain tokens for it (RFC 9728, and the additions of the Model Context
/// Protocol).
package struct ResourceDiscovery: Sendable {
    private let context: AdapterContext
    private let source = MetadataFetcher()

    /// Makes it for a machine.
    package init(in context: AdapterContext) { self.context = context }

    /// The requirements of a resource.
    package struct DiscoveredResource: Sendable {
        /// The metadata of the resource; `nil` if it has no metadata and is its own authorization server, as the
        /// Model Context Protocol had it in March 2025.
        package var resource: ResourceMetadata?
        /// The scopes that its challenge named (RFC 6750 §3).
        package var challengedScope: [String]
        /// Whether its challenge was for tokens that are bound to a key and for no others (RFC 9449 §7.1).
        package var challengesBoundTokens: Bool
        /// The authorization server chosen among those it names.
        package var server: ServerMetadata
        /// Whether no metadata was found at all, and the server's endpoints are at the places of March 2025.
        package var isGuessed: Bool
    }

    /// How a resource answers without a token.
    private struct Probe {
        /// The status; `nil` if there was no response.
        var status: Int?
        var challenges: [AuthenticationChallenge] = []
        /// The request, and its result.
        let step: String

        /// The challenge to follow: one that points to metadata before all others.
        var challenge: AuthenticationChallenge? {
            challenges.first { $0.parameters["resource_metadata"] != nil } ?? challenges.first
        }

        /// The scopes of that challenge, else of the first one that names any.
        var scope: [String] {
            let named = ([challenge].compactMap(\.self) + challenges).lazy.compactMap { $0.parameters["scope"] }
                .first
            return Scope.words(named ?? "").filter(Scope.isValid)
        }
    }

    /// How many of the authorization servers that a resource names are asked: each is a request to another host.
    private static let serverLimit = 8

    /// How long the first request may take, in seconds: a GET may be answered by a stream of events that begins at
    /// no time.
    private static let firstLimit = 5

    /// Asks the resource without a token, follows its challenge to its metadata, and from there to the metadata of
    /// an authorization server. The metadata of the resource is read afresh, even if a copy is kept.
    ///
    /// - Parameters:
    ///   - issuer: the one to choose if the resource names several; else the first whose metadata can be read.
    ///   - needs: endpoints of the server that are wanted.
    /// - Throws: ``ErrorCode/unsupported`` when it publishes no metadata; ``ErrorCode/validationFailed`` for
    ///   metadata of another resource or issuer; ``ErrorCode/temporary``; ``ErrorCode/malformedReply``.
    package func find(
        _ address: URI, preferring issuer: String? = nil, needs: [AccountType.Endpoint] = []
    ) throws(CredentialError) -> DiscoveredResource {
        let probe = try probe(address)
        let bound = !probe.challenges.isEmpty && probe.challenges.allSatisfy { $0.scheme == "dpop" }
        var finding = DiscoveredResource(
            challengedScope: probe.scope,
            challengesBoundTokens: bound, server: ServerMetadata(), isGuessed: false)
        var steps = [probe.step]
        if let resource = try metadata(of: address, probe.challenge, &steps) {
            finding.resource = resource
            finding.server = try server(of: resource, address, preferring: issuer, needs: needs)
        } else if let server = try origin(of: address, needs, &steps) {
            finding.server = server
        } else {
            guard probe.status == 401 else { throw Self.silence(of: address, steps) }
            finding.server.endpoints = Self.oldPlaces(at: address)
            finding.isGuessed = true
        }
        return finding
    }

    /// The issuers that a resource names now, read afresh.
    ///
    /// - Parameter challenge: the resource's, if there is one.
    /// - Throws: as ``find(_:preferring:needs:)``.
    package func issuers(
        of address: URI, _ challenge: AuthenticationChallenge?
    ) throws(CredentialError) -> [String] {
        var steps: [String] = []
        guard let resource = try metadata(of: address, challenge, &steps) else {
            throw Self.silence(of: address, steps)
        }
        return resource.issuers
    }

    /// The metadata of an authorization server.
    ///
    /// - Throws: as ``find(_:preferring:needs:)``.
    package func server(
        _ issuer: String, _ address: URI, needs: [AccountType.Endpoint] = []
    ) throws(CredentialError) -> ServerMetadata {
        try source.metadata(of: issuer, address, needs: needs, in: context)
    }

    // MARK: The resource

    /// Asks without a token. Servers of the Model Context Protocol may know only POST. If a GET gives no challenge
    /// and is refused or not answered, the request follows that every client of theirs begins with. If that is not
    /// answered either, the well-known places may be.
    private func probe(_ address: URI) throws(CredentialError) -> Probe {
        let accept = ("accept", "application/json, text/event-stream, */*;q=0.5")
        let first = try ask(
            HTTPRequest(
                address: address, headers: [accept], maximumReplySize: 4 << 20, timeout: Self.firstLimit))
        if let status = first.status {
            guard first.challenges.isEmpty, (400..<500).contains(status), status != 429 else { return first }
        }
        let hello: JSONValue = [
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": [
                "protocolVersion": "2025-11-25", "capabilities": [:],
                "clientInfo": ["name": "credmgr", "version": "1"],
            ],
        ]
        let second = try ask(
            HTTPRequest(
                method: "POST", address: address, headers: [accept, ("content-type", "application/json")],
                body: .bytes(hello.bytes()), maximumReplySize: 4 << 20))
        return second.challenges.isEmpty && second.status != 401 && first.status != nil ? first : second
    }

    private func ask(_ request: HTTPRequest) throws(CredentialError) -> Probe {
        let step = "\(request.method) \(request.address)"
        let response: HTTPResponse
        do throws(CredentialError) {
            response = try context.transport.send(request)
        } catch {
            // A request that did not leave this machine does not leave it by another method.
            guard error.code == .temporary, !error.isBeforeRequest else { throw error }
            context.note("no answer to \(step): \(error)")
            return Probe(step: "\(step): \(error.message)")
        }
        return Probe(
            status: response.status,
            challenges: AuthenticationChallenge.parse(response.values(of: "www-authenticate")).filter {
                ["bearer", "dpop"].contains($0.scheme)
            },
            step: "\(step): HTTP status \(response.status)")
    }

    /// Returns the metadata of the resource; `nil` if it has no metadata. A value of the challenge that cannot be
    /// followed does not hide the well-known places: it is the reported error if these have no metadata.
    private func metadata(
        of address: URI, _ challenge: AuthenticationChallenge?, _ steps: inout [String]
    ) throws(CredentialError) -> ResourceMetadata? {
        var places = ResourceMetadata.locations(of: address)
        var refusal: CredentialError?
        if let named = challenge?.parameters["resource_metadata"] {
            do throws(CredentialError) {
                let place = try Self.place(named, in: address)
                // The document may be at its well-known place only.
                places = [place] + places.filter { $0 != place }
            } catch {
                context.note(error.message)
                refusal = error
            }
        }
        var trouble: CredentialError?
        for place in places {
            do throws(CredentialError) {
                return try source.first(of: [place], "resource metadata", isAfresh: true, in: context) {
                    (document) throws(CredentialError) in try ResourceMetadata(document, for: address, at: place)
                }.content
            } catch {
                guard [.configuration, .temporary, .malformedReply].contains(error.code) else { throw error }
                steps.append(error.message)
                if error.code != .configuration { trouble = trouble ?? error }
            }
        }
        if let failure = refusal ?? trouble { throw failure }
        return nil
    }

    /// The place of metadata that a challenge names.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` for a place that is not followed.
    private static func place(_ named: String, in address: URI) throws(CredentialError) -> URI {
        let author = LocalizedMessage(verbatim: "the challenge of \(address)")
        guard let place = URI(named), place.isWeb, place.isSecure, place.fragment == nil else {
            throw AddressAuthor.refusal(
                "the challenge of \(address) points to metadata without https: "
                    + "'\(UntrustedText.shown(named))'",
                of: named, by: author, rule: .https)
        }
        // A resource does not choose the host of its metadata, which might be this machine's loopback.
        guard place.origin == address.origin else {
            throw AddressAuthor.refusal(
                "the challenge of \(address) points to metadata of a foreign origin, \(place)",
                of: place.description, by: author, rule: .sameOrigin)
        }
        return place
    }

    private static func silence(of address: URI, _ steps: [String]) -> CredentialError {
        CredentialError(
            .unsupported, "\(address.origin) does not report how to get a token (RFC 9728)",
            hint: "define the type by hand: credmgr types add --help", details: steps)
    }

    // MARK: The authorization server

    private func server(
        of resource: ResourceMetadata, _ address: URI, preferring issuer: String?,
        needs: [AccountType.Endpoint]
    ) throws(CredentialError) -> ServerMetadata {
        let preferred = resource.issuers.first { name in
            issuer.map { ServerMetadata.isSameIssuer($0, name) } ?? false
        }
        var failure: CredentialError?
        for name in preferred.map({ [$0] }) ?? Array(resource.issuers.prefix(Self.serverLimit)) {
            do throws(CredentialError) {
                let place = try Self.server(name, namedBy: address)
                return try source.metadata(of: name, place, needs: needs, spelling: .ofAPI, in: context)
            } catch {
                // The next server may do. A server that credmgr refuses gets a request for metadata at most.
                guard [.configuration, .temporary, .malformedReply, .validationFailed].contains(error.code) else {
                    throw error
                }
                context.note(error.message)
                failure = failure ?? error
            }
        }
        throw failure ?? CredentialError(.unsupported, "\(address.origin) names no authorization server")
    }

    /// The address of an authorization server that the metadata of a resource names.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` for an address that a resource may not name.
    private static func server(_ name: String, namedBy address: URI) throws(CredentialError) -> URI {
        let document: LocalizedMessage = "the metadata of \(address.origin)"
        guard let place = URI(name)?.named(by: .api(host: address.host)), place.isWeb, place.isSecure,
            place.fragment == nil
        else {
            throw AddressAuthor.refusal(
                "\(address.origin) names an authorization server that is not a URL with https: "
                    + "'\(UntrustedText.shown(name))'",
                of: name, by: document, rule: .https)
        }
        guard place.isNamedRightly else {
            throw AddressAuthor.refusal(
                "\(address.origin) names an authorization server on this machine or its network, "
                    + "\(place.origin)",
                of: place.origin, by: document, rule: .network)
        }
        return place
    }

    /// The resource's own origin as authorization server, if it has a server's metadata (Model Context Protocol of
    /// March 2025).
    private func origin(
        of address: URI, _ needs: [AccountType.Endpoint], _ steps: inout [String]
    ) throws(CredentialError) -> ServerMetadata? {
        let origin = address.replacing(path: "").named(by: .api(host: address.host))
        do throws(CredentialError) {
            return try source.metadata(of: origin.origin, origin, needs: needs, spelling: .ofAPI, in: context)
        } catch {
            guard error.code == .configuration, !error.isBeforeRequest else { throw error }
            steps.append(error.message)
            return nil
        }
    }

    /// Returns the endpoints of a server without metadata, as the Model Context Protocol of March 2025 places them.
    private static func oldPlaces(at address: URI) -> [AccountType.Endpoint: URI] {
        [
            .authorization: address.replacing(path: "/authorize"), .token: address.replacing(path: "/token"),
            .registration: address.replacing(path: "/register"),
        ]
    }
}
