import CredentialCore

/// The proxy that a request goes through, with the source of its name: the account type, else the environment, else
/// `config.json`.
struct ProxyChoice {
    /// The setting that names a proxy.
    enum Source {
        /// A variable of the environment, which libcurl reads by itself.
        case variable(String)
        /// The account type or `config.json`.
        case settings(ConnectionSettings)
    }

    let source: Source
    /// The proxy's host and port, without user and password.
    let place: String
    /// The URL to hand to libcurl; `nil` if libcurl reads the variable.
    let url: String?

    /// Chooses the proxy of a request; `nil` if the request uses no proxy.
    ///
    /// - Parameters:
    ///   - address: the target of the request.
    ///   - settings: those of the account type, then those of `config.json`.
    ///   - variables: those of the environment.
    init?(for address: URI, _ settings: [ConnectionSettings], _ variables: ProxyVariables) {
        guard !variables.except(address) else { return nil }
        let named = settings.first { $0.proxy != nil }
        if let variable = variables.variable(for: address), named?.isOfType != true {
            source = .variable(variable)
            place = variables.place(variable)
            url = nil
        } else {
            guard let named, let proxy = named.proxy else { return nil }
            source = .settings(named)
            place = ProxyVariables.place(of: proxy)
            url = proxy
        }
    }

    /// Names the proxy in an error for which it can be the cause.
    func named(in error: CredentialError, of failure: CurlFailure) -> CredentialError {
        guard failure.canBeOfProxy else { return error }
        let origin: LocalizedMessage =
            switch source {
            case .variable(let name): "the variable \(name)"
            case .settings(let settings): settings.owner
            }
        return error.withHint(
            failure.isRefusedByProxy
                ? "the proxy \(place) of \(origin) refused the request"
                : "the request goes through the proxy \(place) of \(origin): is it running?")
    }
}

extension ConnectionSettings {
    /// The account type, or the file.
    fileprivate var owner: LocalizedMessage {
        switch source {
        case .type(let name): "the account type \(name)"
        case .configuration(let path): LocalizedMessage(verbatim: path)
        }
    }

    /// Whether an account type has them: only those count more than the environment.
    fileprivate var isOfType: Bool {
        switch source {
        case .type: true
        case .configuration: false
        }
    }
}

extension CurlFailure {
    /// Whether the proxy can be the cause: its name, its connection, its TLS, its answer, or the time.
    fileprivate var canBeOfProxy: Bool { [5, 7, 28, 35, 56, 97].contains(code) }

    /// Whether the proxy has answered, and does not let the request through.
    fileprivate var isRefusedByProxy: Bool {
        code == 97 || text.contains("from proxy") || text.contains("CONNECT tunnel failed")
    }
}
