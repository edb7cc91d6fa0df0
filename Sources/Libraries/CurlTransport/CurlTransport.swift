package import CredentialCore
import Glibc
import Platform
import Synchronization

/// Sends requests by libcurl, which is opened with the first one.
///
/// Each request has a connection of its own. A connection kept from an earlier request may have been closed by the
/// server meanwhile; libcurl then sends the request again, and that would spend a one-use refresh token twice.
///
/// TLS is always verified. Proxies are those of the account type, else of the environment (`https_proxy`,
/// `all_proxy`, `no_proxy`), else of `config.json`, never for the loopback. Redirects are not followed, cookies not
/// kept. A body of limited size that is compressed with gzip, unasked, is decompressed.
package final class CurlTransport: HTTPTransport {
    private let userAgent: String
    private let certificateFile: String?
    private let system: CertificateStore
    private let proxies: ProxyVariables
    private let defaults: @Sendable () -> ConnectionSettings?
    private let readDefaults = Mutex<ConnectionSettings??>(nil)
    private let library = Mutex<LibCurl?>(nil)

    /// Makes a transport and opens no connection yet.
    ///
    /// - Parameters:
    ///   - userAgent: `credmgr/VERSION`.
    ///   - certificateFile: a PEM file of certificate authorities to trust in place of the system's file: the file
    ///     that `CURL_CA_BUNDLE` or else `SSL_CERT_FILE` names.
    ///   - system: the system's own authorities, used when no file is named.
    ///   - environment: the variables of the process, in which libcurl finds proxies.
    ///   - defaults: gives the settings of all requests, asked for once, before the first.
    package init(
        userAgent: String, certificateFile: String? = nil, system: CertificateStore = .debian,
        environment: [String: String] = [:], defaults: @escaping @Sendable () -> ConnectionSettings? = { nil }
    ) {
        self.defaults = defaults
        self.userAgent = userAgent
        proxies = ProxyVariables(environment)
        self.certificateFile = certificateFile
        self.system = system
    }

    /// Sends a request and returns the response with any status; blocks until then.
    ///
    /// - Throws: ``ErrorCode/denied`` for an insecure address, before the request is sent, or an invalid
    ///   certificate; ``ErrorCode/validationFailed`` for an address that its author may not name;
    ///   ``ErrorCode/temporary`` without a complete response. Also throws ``ErrorCode/malformedReply`` if it is too
    ///   large or no HTTP; ``ErrorCode/usage`` for a request that is no HTTP; ``ErrorCode/inputOutput`` for an
    ///   unreadable file to send; ``ErrorCode/internalFault`` without libcurl; the errors of the observer's sink.
    package func send(
        _ request: HTTPRequest, observer: TransferObserver
    ) throws(CredentialError) -> HTTPResponse {
        try RequestValidation.check(request)
        let settings = settings(of: request)
        let route = Route(
            proxy: ProxyChoice(for: request.address, settings, proxies),
            authorities: try TrustedAuthorities(settings, certificateFile: certificateFile, system: system))
        let transfer = try CurlTransfer(try openLibrary())
        try configure(transfer, for: request, by: route)
        switch request.body {
        case .none:
            try setNoBody(transfer, request)
            return try perform(transfer, request, observer, route)
        case .bytes(let bytes):
            return try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(CredentialError) in
                try unsafe transfer.setBody(UnsafeRawBufferPointer(buffer))
                return try perform(transfer, request, observer, route)
            }
        case .file(let path):
            let file = try BodyFile(path: path)
            try transfer.set(.upload, 1)
            if let size = file.size { try transfer.set(.uploadSize, size) }
            return try perform(transfer, request, observer, route, file: file)
        case .multipart(let parts):
            try transfer.setForm()
            for part in parts {
                switch part.content {
                case .text(let text): try transfer.addPart(name: part.name, text: text)
                case .file(let path):
                    try BodyFile.check(path: path)
                    try transfer.addPart(name: part.name, file: path)
                }
            }
            return try perform(transfer, request, observer, route)
        }
    }

    /// Opens libcurl, which brings 30 other libraries with it, on a thread of its own. A request that comes before
    /// that has ended waits for it. No variable of the environment may be changed meanwhile: libraries read theirs.
    package func prepare() {
        try? DeadlineThread.start { [self] in _ = try? openLibrary() }
    }

    /// libcurl, opened at the first call.
    func openLibrary() throws(CredentialError) -> LibCurl {
        try library.withLock { (opened) throws(CredentialError) in
            if let opened { return opened }
            let library = try LibCurl()
            opened = library
            return library
        }
    }

    /// The way of one request to its server.
    private struct Route {
        let proxy: ProxyChoice?
        let authorities: TrustedAuthorities
    }

    /// The settings that count for a request: those of its account type, then the defaults.
    private func settings(of request: HTTPRequest) -> [ConnectionSettings] {
        let common = readDefaults.withLock { known in
            if let known { return known }
            let read = defaults()
            known = .some(read)
            return read
        }
        return [request.connection, common].compactMap(\.self)
    }

    private func configure(
        _ transfer: CurlTransfer, for request: HTTPRequest, by route: Route
    ) throws(CredentialError) {
        let address = request.address
        try transfer.set(.url, address.replacing(path: address.path, query: address.query).description)
        try transfer.set(.protocols, address.scheme)
        try transfer.set(.method, request.method)
        try transfer.set(.userAgent, userAgent)
        try transfer.set(.noSignal, 1)
        try transfer.set(.followRedirects, 0)
        try transfer.set(.disallowUserInformation, 1)
        try transfer.set(.pathAsIs, 1)
        try transfer.set(.forbidReuse, 1)
        try transfer.set(.keepAlive, 1)
        try transfer.set(.suppressProxyHeaders, 1)
        try transfer.set(.connectTimeout, 10)
        // 0 would mean no limit; beyond the largest number libcurl takes lies no real limit either.
        if let timeout = request.timeout { try transfer.set(.timeout, min(max(timeout, 1), 2_000_000)) }
        try transfer.set(.verifyPeer, 1)
        try transfer.set(.verifyHost, 2)
        try route.authorities.apply(to: transfer, for: address, through: route.proxy)
        if let certificate = request.clientCertificate { try transfer.setClientCertificate(certificate) }
        if address.isLoopback {
            try transfer.set(.proxy, "")
        } else if let url = route.proxy?.url {
            try transfer.set(.proxy, url)
        }
        // libcurl would not read the beginning of a reply whose length is over the limit.
        if let limit = request.maximumReplySize, request.method != "HEAD", !request.takesFaultyReply {
            try transfer.set(.maximumSize, Int64(max(limit, 1)))
        }
        var lines = request.headers.map(RequestValidation.line)
        lines.append("Expect:")
        // libcurl would call a body a form if the request does not name its type.
        if !RequestValidation.hasField("content-type", request), !request.body.isMultipart {
            lines.append("Content-Type:")
        }
        try transfer.setHeaders(lines)
    }

    /// A method that usually carries a body shows that there is no body by `Content-Length: 0` (RFC 9110 §8.6).
    private func setNoBody(_ transfer: CurlTransfer, _ request: HTTPRequest) throws(CredentialError) {
        switch request.method {
        case "HEAD": try transfer.set(.noBody, 1)
        case "POST", "PUT", "PATCH": try unsafe transfer.setBody(UnsafeRawBufferPointer(start: nil, count: 0))
        default: try transfer.set(.get, 1)
        }
    }

    private func perform(
        _ transfer: CurlTransfer, _ request: HTTPRequest, _ observer: TransferObserver, _ route: Route,
        file: consuming BodyFile? = nil
    ) throws(CredentialError) -> HTTPResponse {
        let address = request.address
        let host = String(address.origin.dropFirst("\(address.scheme)://".count))
        let exchange = CurlExchange(
            host: host, request: request, observer: observer, file: file)
        try exchange.attach(to: transfer)
        // The socket of a proxy does not show the target of the request.
        let reachGuard = route.proxy == nil ? ReachGuard(address) : nil
        let rule = reachGuard.map { SocketRule($0.admits) }
        if let rule { try transfer.setSocketRule(rule) }
        defer { withExtendedLifetime(rule) {} }
        var failure = perform(transfer, exchange)
        if failure?.isUntrusted == true, route.authorities.usesSystemFolder(for: address) {
            try route.authorities.applySystemFile(to: transfer)
            failure = perform(transfer, exchange)
        }
        if let error = exchange.failure {
            if let reply = exchange.faultyReply(error) { return reply }
            throw error
        }
        if failure != nil, let error = reachGuard?.error() { throw error }
        if let failure {
            var error = failure.error(host: host, request: request, certificateFile: certificateFile)
            error.isBeforeRequest = failure.isBeforeRequest
            if let proxy = route.proxy { error = proxy.named(in: error, of: failure) }
            if let reply = exchange.faultyReply(error) { return reply }
            throw error
        }
        exchange.reportEnd()
        return try exchange.reply()
    }

    private func perform(_ transfer: CurlTransfer, _ exchange: CurlExchange) -> CurlFailure? {
        withExtendedLifetime(exchange) { BrokenPipeSignal.held { transfer.perform() } }
    }
}

/// The system's certificate authorities, kept twice: each in a file of a folder, and all in one file.
///
/// Reading the one file costs 14 ms of a request; finding one authority in the directory takes almost no time. The
/// folder is therefore asked first. If it lacks an authority that the file has (a container with only the file put
/// in), the handshake fails before any data is sent, and is repeated with the file.
package struct CertificateStore: Sendable {
    /// The folder, with links by the hash of the subject as `openssl rehash` makes them.
    let folder: String
    /// The file of all, in PEM form.
    let file: String

    /// Names a store.
    package init(folder: String, file: String) {
        self.folder = folder
        self.file = file
    }

    /// Debian's; if it does not exist, libcurl's own choice is kept.
    package static let debian = CertificateStore(
        folder: "/etc/ssl/certs", file: "/etc/ssl/certs/ca-certificates.crt")

    /// Whether both are there.
    var exists: Bool { unsafe access(folder, R_OK | X_OK) == 0 && access(file, R_OK) == 0 }
}
