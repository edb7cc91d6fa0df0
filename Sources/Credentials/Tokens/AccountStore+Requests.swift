public import CredentialCore
import OAuth
import Platform
import Synchronization

extension AccountStore {
    /// Sends a request with the account's token: `Bearer`, or `DPoP` with its proof, and the type's client
    /// certificate.
    ///
    /// The token goes only to the origins of the type's `api_base` and `api_origins`, and only if rules of
    /// `config.json` allow it. A 401 that asks for another token refreshes it once and repeats the request once.
    /// Redirects are followed within the origin. A body is sent from a file with
    /// ``CredentialCore/HTTPBody/file(path:)``, read while it is sent.
    ///
    /// When the task is cancelled, a response into a file is received no further; a request that was begun is sent
    /// to its end.
    ///
    /// - Parameters:
    ///   - request: the request to send; any `Authorization` of it is replaced.
    ///   - account: whose token goes with it.
    ///   - name: the account type it is sent under; the account's own for `nil`.
    ///   - policy: by alias or name, if the provider has policies.
    ///   - path: a file to write the reply's body to; its bytes are not in the reply then.
    ///   - progress: told how far the transfer is, a few times a second, on another thread.
    /// - Throws: ``CredentialCore/ErrorCode/denied`` for an origin that may not have the token;
    ///   ``CredentialCore/ErrorCode/signInRequired`` with ``CredentialCore/CredentialError/stepUp`` if the service
    ///   requires a wider scope or another authentication; as
    ///   ``token(of:ofType:policy:scope:resource:audience:minimumValidity:forceRefresh:takesOver:interaction:)``.
    public func send(
        _ request: HTTPRequest, as account: Account, ofType name: String? = nil, policy: String? = nil,
        toFile path: String? = nil, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(CredentialError) -> HTTPResponse {
        let isCancelled = AtomicFlag()
        return try await blocking(onCancel: { isCancelled.set() }) { [self] () throws(CredentialError) in
            let call = try call(to: request.address, as: account, ofType: name, policy)
            guard let path else {
                return try call.send(request) { TransferObserver(progress: progress) }
            }
            var request = request
            request.maximumReplySize = nil
            let file = DownloadFile(path, isCancelled)
            let response = try call.send(request) {
                file.restart()
                return TransferObserver(
                    sink: { (piece) throws(CredentialError) in try file.write(piece) }, progress: progress)
            }
            try file.close()
            return response
        }
    }

    /// A request with the header fields that ``send(_:as:ofType:policy:toFile:progress:)`` would send, for another
    /// HTTP client: NXOAuth2's `signedURLRequest`. Its token is valid; a proof of possession is for this one
    /// request.
    ///
    /// - Throws: as ``send(_:as:ofType:policy:toFile:progress:)``.
    public func signed(
        _ request: HTTPRequest, as account: Account, ofType name: String? = nil, policy: String? = nil
    ) async throws(CredentialError) -> HTTPRequest {
        try await blocking { [self] () throws(CredentialError) in
            try call(to: request.address, as: account, ofType: name, policy).signed(request)
        }
    }

    /// The address that a path has at a type's `apiBase`, as `credmgr request` joins them. An empty path is the
    /// `apiBase` as it is, dot segments are resolved (RFC 3986 §5.2.4), and a URL is taken as one.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/usage`` without an `apiBase`, and for a text that is neither a path nor
    ///   an `https` URL.
    public func address(_ path: String, ofType name: String) throws(CredentialError) -> URI {
        try forPrograms { () throws(CredentialError) in
            if let absolute = try RequestURL.absolute(path) { return absolute }
            return try RequestURL.joined(path, to: type(named: name))
        }
    }

    private func call(
        to address: URI, as account: Account, ofType name: String?, _ policy: String?
    ) throws(CredentialError) -> ResourceCall {
        let type = try type(name, of: account)
        try check(address, type, account)
        let freshness = Freshness(demanded: nil, configured: parts.configuration.minimumValidity)
        var call = ResourceCall(
            of: account, in: try group(of: account, under: type), under: type,
            context: parts.accounts.adapterContext(of: type)
        ) { [self] (isRefused) throws(CredentialError) in
            try access(
                to: account, ofType: name,
                TokenDemand(policy: policy, freshness: freshness, forceRefresh: isRefused))
        }
        call.check = { [self] (next) throws(CredentialError) in try check(next, type, account) }
        return call
    }

    /// Refuses an address that may not have the account's token.
    private func check(_ address: URI, _ type: AccountType, _ account: Account) throws(CredentialError) {
        guard let destination = Destination(address) else {
            throw CredentialError(.denied, "no token goes to \(address.origin)")
        }
        if let refusal = parts.authority.refusalOfTravel(to: destination) {
            throw CredentialError(.denied, refusal.text, hint: refusal.advice)
        }
        if case .refused(let refusal) = parts.authority.ruling(on: destination, type: type, account: account) {
            if refusal.isOfTrust { throw CredentialError(.denied, refusal.text, hint: refusal.advice) }
            throw CredentialError(
                .denied, "a token of account type \(type.name) is not sent to \(destination)",
                hint: "allow the destination in apiBase or apiOrigins of the type, or in rules of config.json")
        }
    }
}

/// Whether something has been said, from any thread.
private final class AtomicFlag: Sendable {
    private let isSet = Atomic(false)
    func set() { isSet.store(true, ordering: .releasing) }
    var value: Bool { isSet.load(ordering: .acquiring) }
}

/// The body of a reply on its way into a file.
private final class DownloadFile {
    private let path: String
    private let isCancelled: AtomicFlag
    private var file: UserOutputFile?

    init(_ path: String, _ isCancelled: AtomicFlag) {
        self.path = path
        self.isCancelled = isCancelled
    }

    /// Begins again, for another reply.
    func restart() { file = nil }

    func write(_ piece: [UInt8]) throws(CredentialError) {
        if isCancelled.value { throw .taskCancelled }
        try opened().write(piece)
    }

    func close() throws(CredentialError) { try opened().close() }

    private func opened() throws(CredentialError) -> UserOutputFile {
        if let file { return file }
        let file = try UserOutputFile(path)
        self.file = file
        return file
    }
}
