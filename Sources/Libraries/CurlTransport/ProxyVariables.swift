package import CredentialCore

/// The variables by which libcurl chooses a proxy (libcurl-env(3)), read as libcurl reads them.
package struct ProxyVariables: Sendable {
    private let environment: [String: String]

    /// Reads them from the environment of the process, which is what libcurl does.
    package init(_ environment: [String: String]) { self.environment = environment }

    /// Whether a request to `address` goes through a proxy.
    package func apply(to address: WebAddress) -> Bool {
        // libcurl does not read HTTP_PROXY: a CGI program gets it from its caller.
        let names = address.scheme == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard !address.isLoopback,
            (names + ["all_proxy", "ALL_PROXY"]).contains(where: { !(environment[$0] ?? "").isEmpty })
        else { return false }
        let exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        if exceptions == "*" { return false }
        let host = address.host.hasSuffix(".") ? String(address.host.dropLast()) : address.host
        return !exceptions.lowercased().split(whereSeparator: { ", ".contains($0) }).contains { pattern in
            var name = pattern.hasPrefix(".") ? pattern.dropFirst() : pattern
            if name.hasSuffix(".") { name = name.dropLast() }
            return host == name || host.hasSuffix("." + name)
        }
    }
}
