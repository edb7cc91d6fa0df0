import CredentialCore
import Testing

/// Fails the test and the call.
package func unexpected(_ what: String) -> CredentialError {
    Issue.record("unexpected: \(what)")
    return CredentialError(.internalFault, "the test does not expect \(what)")
}

/// A network that no test may use.
package struct UnexpectedTransport: HTTPTransport {
    /// Makes it.
    package init() {}

    package func send(
        _ request: HTTPRequest, observer: TransferObserver
    ) throws(CredentialError) -> HTTPResponse {
        throw unexpected("a request to \(request.address)")
    }
}

/// Programs that no test may start.
package struct UnexpectedPrograms: ProcessRunner {
    /// Makes it.
    package init() {}

    package func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult {
        throw unexpected("the program \(words)")
    }

    package func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
    ) throws(CredentialError) -> [UInt8] {
        throw unexpected("a refresh worker")
    }
}

/// Secrets of clients: those that a test gives, and no other.
package struct MemorySecrets: ClientSecrets {
    /// The client secret.
    package var secret: Secret?
    /// The private key.
    package var key: Secret?

    /// Makes them.
    package init(secret: Secret? = nil, key: Secret? = nil) {
        self.secret = secret
        self.key = key
    }

    package func clientSecret(of type: AccountType) throws(CredentialError) -> Secret? { secret }
    package func privateKey(of type: AccountType) throws(CredentialError) -> Secret? { key }

    package func identityToken(of type: AccountType) throws(CredentialError) -> Secret? {
        throw unexpected("a workload's token")
    }

    package func identityAssertion(
        of type: AccountType, _ request: IdentityAssertionRequest
    ) throws(CredentialError) -> Secret? {
        throw unexpected("an assertion of another provider")
    }
}
