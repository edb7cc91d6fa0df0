package import CredentialCore

/// The variables by which libcurl chooses a proxy (libcurl-env(3)), read as libcurl reads them.
package struct ProxyVariables: Sendable {
    private let environment: [String: String]

    /// Reads them from the environment of the process, as libcurl does.
    package init(_ environment: [String: String]) { self.environment = environment }

    /// Whether a request to `address` goes through a proxy.
    package func apply(to address: URI) -> Bool { variable(for: address) != nil }

    /// The variable that names the proxy of a request to `address`; `nil` if the request uses no proxy.
    package func variable(for address: URI) -> String? {
        // libcurl does not read HTTP_PROXY: a CGI program gets it from its caller.
        let names = address.scheme == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard !except(address) else { return nil }
        return (names + ["all_proxy", "ALL_PROXY"]).first { !(environment[$0] ?? "").isEmpty }
    }

    /// The host and port of the proxy that a variable names, without user and password.
    package func place(_ variable: String) -> String { Self.place(of: environment[variable] ?? "") }

    /// The host and port of the URL of a proxy, without user and password.
    static func place(of text: String) -> String {
        let rest = text.split(separator: "://", maxSplits: 1).last.map(String.init) ?? text
        let authority = rest.split(separator: "/").first ?? ""
        return UntrustedText.shown(String(authority.split(separator: "@").last ?? ""), limit: 200)
    }

    /// Whether `address` is reached without a proxy, even if a setting names one: localhost, and the hosts that
    /// `no_proxy` lists. libcurl reads `no_proxy` for a proxy of ours, too.
    func except(_ address: URI) -> Bool {
        if address.isLoopback { return true }
        let exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        if exceptions == "*" { return true }
        let host = address.host.hasSuffix(".") ? String(address.host.dropLast()) : address.host
        return exceptions.lowercased().split(whereSeparator: { ", ".contains($0) }).contains { pattern in
            var name = pattern.hasPrefix(".") ? pattern.dropFirst() : pattern
            if name.hasSuffix(".") { name = name.dropLast() }
            return host == name || host.hasSuffix("." + name)
        }
    }
}
