import CLibCurl
import CredentialCore
import Glibc
import Platform

/// The functions of libcurl that this program uses, from the library opened at first use.
///
/// This file alone sees libcurl's C declarations.
@safe final class LibCurl: @unchecked Sendable {
    // Immutable after `init`; libcurl lets each thread use handles of its own.
    fileprivate let makeHandle: @convention(c) () -> UnsafeMutableRawPointer?
    fileprivate let freeHandle: @convention(c) (UnsafeMutableRawPointer?) -> Void
    fileprivate let perform: @convention(c) (UnsafeMutableRawPointer?) -> CURLcode
    fileprivate let setOption: UnsafeMutableRawPointer
    fileprivate let getInformation: UnsafeMutableRawPointer
    fileprivate let appendToList:
        @convention(c) (UnsafeMutablePointer<curl_slist>?, UnsafePointer<CChar>?) ->
            UnsafeMutablePointer<curl_slist>?
    fileprivate let freeList: @convention(c) (UnsafeMutablePointer<curl_slist>?) -> Void
    fileprivate let makeForm: @convention(c) (UnsafeMutableRawPointer?) -> OpaquePointer?
    fileprivate let freeForm: @convention(c) (OpaquePointer?) -> Void
    fileprivate let addPart: @convention(c) (OpaquePointer?) -> OpaquePointer?
    fileprivate let setPartName: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> CURLcode
    fileprivate let setPartData: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int) -> CURLcode
    fileprivate let setPartFile: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> CURLcode
    private let library: DynamicLibrary

    /// Opens libcurl and sets it up.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when it is not installed, too old or does not start.
    init() throws(CredentialError) {
        let library = try DynamicLibrary("libcurl.so.4", package: "libcurl4")
        func function<Function>(_ name: String) throws(CredentialError) -> Function {
            unsafe unsafeBitCast(try library.symbol(name), to: Function.self)
        }
        let setUp: @convention(c) (Int) -> CURLcode = try function("curl_global_init")
        unsafe makeHandle = try function("curl_easy_init")
        unsafe freeHandle = try function("curl_easy_cleanup")
        unsafe perform = try function("curl_easy_perform")
        unsafe setOption = try library.symbol("curl_easy_setopt")
        unsafe getInformation = try library.symbol("curl_easy_getinfo")
        unsafe appendToList = try function("curl_slist_append")
        unsafe freeList = try function("curl_slist_free_all")
        unsafe makeForm = try function("curl_mime_init")
        unsafe freeForm = try function("curl_mime_free")
        unsafe addPart = try function("curl_mime_addpart")
        unsafe setPartName = try function("curl_mime_name")
        unsafe setPartData = try function("curl_mime_data")
        unsafe setPartFile = try function("curl_mime_filedata")
        self.library = library
        guard setUp(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else {
            throw CredentialError(.internalFault, "cannot initialize libcurl")
        }
    }
}

/// An option of a transfer that takes a `Value`.
struct CurlOption<Value> {
    fileprivate let code: CURLoption
}

extension CurlOption where Value == Int {
    static var connectTimeout: Self { Self(code: CURLOPT_CONNECTTIMEOUT) }
    static var disallowUserInformation: Self { Self(code: CURLOPT_DISALLOW_USERNAME_IN_URL) }
    static var followRedirects: Self { Self(code: CURLOPT_FOLLOWLOCATION) }
    static var forbidReuse: Self { Self(code: CURLOPT_FORBID_REUSE) }
    static var get: Self { Self(code: CURLOPT_HTTPGET) }
    static var keepAlive: Self { Self(code: CURLOPT_TCP_KEEPALIVE) }
    static var noBody: Self { Self(code: CURLOPT_NOBODY) }
    static var noProgress: Self { Self(code: CURLOPT_NOPROGRESS) }
    static var noSignal: Self { Self(code: CURLOPT_NOSIGNAL) }
    static var pathAsIs: Self { Self(code: CURLOPT_PATH_AS_IS) }
    static var suppressProxyHeaders: Self { Self(code: CURLOPT_SUPPRESS_CONNECT_HEADERS) }
    static var timeout: Self { Self(code: CURLOPT_TIMEOUT) }
    static var timeoutMilliseconds: Self { Self(code: CURLOPT_TIMEOUT_MS) }
    static var upload: Self { Self(code: CURLOPT_UPLOAD) }
    static var verifyHost: Self { Self(code: CURLOPT_SSL_VERIFYHOST) }
    static var verifyPeer: Self { Self(code: CURLOPT_SSL_VERIFYPEER) }
}

extension CurlOption where Value == Int64 {
    static var bodySize: Self { Self(code: CURLOPT_POSTFIELDSIZE_LARGE) }
    static var maximumSize: Self { Self(code: CURLOPT_MAXFILESIZE_LARGE) }
    static var uploadSize: Self { Self(code: CURLOPT_INFILESIZE_LARGE) }
}

extension CurlOption where Value == String {
    static var certificateFile: Self { Self(code: CURLOPT_CAINFO) }
    static var certificateFolder: Self { Self(code: CURLOPT_CAPATH) }
    static var clientCertificate: Self { Self(code: CURLOPT_SSLCERT) }
    static var clientKey: Self { Self(code: CURLOPT_SSLKEY) }
    static var clientKeyPassphrase: Self { Self(code: CURLOPT_KEYPASSWD) }
    static var method: Self { Self(code: CURLOPT_CUSTOMREQUEST) }
    static var protocols: Self { Self(code: CURLOPT_PROTOCOLS_STR) }
    static var proxy: Self { Self(code: CURLOPT_PROXY) }
    static var proxyCertificateFile: Self { Self(code: CURLOPT_PROXY_CAINFO) }
    static var url: Self { Self(code: CURLOPT_URL) }
    static var userAgent: Self { Self(code: CURLOPT_USERAGENT) }
}

/// A function that libcurl calls with a piece of data: memory, size, count, context.
typealias CurlDataCallback =
    @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?) -> Int

/// A function that libcurl calls with context, bytes to receive, received, to send and sent.
typealias CurlProgressCallback = @convention(c) (UnsafeMutableRawPointer?, Int, Int, Int, Int) -> Int32

/// Decides about the address of a connection, before it is made.
final class SocketRule {
    fileprivate let admits: (SocketAddress) -> Bool

    /// Makes a rule; `admits` says whether a socket may be opened for an address.
    init(_ admits: @escaping (SocketAddress) -> Bool) { self.admits = admits }
}

/// One transfer: libcurl's handle with the lists that belong to it. It is used by one thread.
@safe final class CurlTransfer {
    private let curl: LibCurl
    private let handle: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var form: OpaquePointer?

    /// Makes a transfer with libcurl's defaults, over HTTP/1.1 and at least TLS 1.2.
    init(_ curl: LibCurl) throws(CredentialError) {
        guard let handle = unsafe curl.makeHandle() else { throw Self.outOfMemory }
        self.curl = curl
        unsafe self.handle = handle
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try check(unsafe credmgr_curl_set_pointer(curl.setOption, handle, CURLOPT_ERRORBUFFER, errorText))
        try set(CurlOption<Int>(code: CURLOPT_HTTP_VERSION), Int(CURL_HTTP_VERSION_1_1))
        try set(CurlOption<Int>(code: CURLOPT_SSLVERSION), Int(CURL_SSLVERSION_TLSv1_2))
    }

    deinit {
        unsafe curl.freeHandle(handle)
        // Fields such as Authorization are wiped before their memory goes back.
        var node = unsafe headers
        while let field = unsafe node {
            if let data = unsafe field.pointee.data { unsafe explicit_bzero(data, strlen(data)) }
            unsafe node = field.pointee.next
        }
        unsafe curl.freeList(headers)
        unsafe curl.freeForm(form)
        unsafe errorText.deallocate()
    }

    private static var outOfMemory: CredentialError { CredentialError(.internalFault, "libcurl is out of memory") }

    private func check(_ code: CURLcode) throws(CredentialError) {
        guard code == CURLE_OK else {
            throw CredentialError(
                .internalFault, "libcurl refuses an option (\(code.rawValue))",
                hint: "install libcurl 7.85 or newer")
        }
    }

    /// Speaks HTTP/2; on an unencrypted connection without an upgrade request first.
    func setHTTP2(encrypted: Bool) throws(CredentialError) {
        let version = encrypted ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
        try set(CurlOption<Int>(code: CURLOPT_HTTP_VERSION), Int(version))
    }

    /// Sets a number or a switch.
    func set(_ option: CurlOption<Int>, _ value: Int) throws(CredentialError) {
        try check(unsafe credmgr_curl_set_long(curl.setOption, handle, option.code, value))
    }

    /// Sets a size in bytes.
    func set(_ option: CurlOption<Int64>, _ value: Int64) throws(CredentialError) {
        try check(unsafe credmgr_curl_set_offset(curl.setOption, handle, option.code, Int(value)))
    }

    /// Sets a text, which libcurl copies, or takes it away.
    func set(_ option: CurlOption<String>, _ value: String?) throws(CredentialError) {
        try check(unsafe credmgr_curl_set_string(curl.setOption, handle, option.code, value))
    }

    /// Shows a certificate to the server.
    func setClientCertificate(_ certificate: ClientCertificate) throws(CredentialError) {
        try set(.clientCertificate, certificate.certificateFile)
        try set(.clientKey, certificate.keyFile)
        // Without a passphrase OpenSSL would prompt the user at the terminal.
        try set(.clientKeyPassphrase, "")
    }

    /// The file of certificate authorities that libcurl was built for; `nil` if it was built for no file.
    var defaultCertificateFile: String? {
        var path: UnsafePointer<CChar>?
        let code = unsafe credmgr_curl_get_string(curl.getInformation, handle, CURLINFO_CAINFO, &path)
        guard code == CURLE_OK, let path = unsafe path else { return nil }
        return unsafe String(cString: path)
    }

    /// Trusts the authorities of these PEM certificates, in place of a file; libcurl copies them.
    func setCertificates(_ bytes: [UInt8], ofProxy: Bool = false) throws(CredentialError) {
        let option = ofProxy ? CURLOPT_PROXY_CAINFO_BLOB : CURLOPT_CAINFO_BLOB
        let code = unsafe bytes.withUnsafeBytes { buffer in
            var blob = unsafe curl_blob(
                data: UnsafeMutableRawPointer(mutating: buffer.baseAddress), len: buffer.count,
                flags: UInt32(CURL_BLOB_COPY))
            return unsafe credmgr_curl_set_pointer(curl.setOption, handle, option, &blob)
        }
        try check(code)
    }

    /// Sends these bytes as the body; libcurl does not copy them, so they must outlive ``perform()``.
    func setBody(_ bytes: UnsafeRawBufferPointer) throws(CredentialError) {
        try set(.bodySize, Int64(bytes.count))
        guard let address = bytes.baseAddress, bytes.count > 0 else {
            // Without an address libcurl would call the read function instead of sending an empty body.
            return try set(CurlOption<String>(code: CURLOPT_COPYPOSTFIELDS), "")
        }
        try check(unsafe credmgr_curl_set_pointer(curl.setOption, handle, CURLOPT_POSTFIELDS, address))
    }

    /// Sends the header fields given as lines.
    func setHeaders(_ lines: [String]) throws(CredentialError) {
        for line in lines {
            guard let longer = unsafe curl.appendToList(headers, line) else { throw Self.outOfMemory }
            unsafe headers = longer
        }
        try check(unsafe credmgr_curl_set_pointer(curl.setOption, handle, CURLOPT_HTTPHEADER, headers))
    }

    /// Sends a form; the parts are added by ``addPart(name:text:)`` and ``addPart(name:file:)``.
    func setForm() throws(CredentialError) {
        guard let form = unsafe curl.makeForm(handle) else { throw Self.outOfMemory }
        unsafe self.form = form
        try check(
            unsafe credmgr_curl_set_pointer(
                curl.setOption, handle, CURLOPT_MIMEPOST, UnsafeRawPointer(form)))
    }

    /// Adds a plain field to the form.
    func addPart(name: String, text: String) throws(CredentialError) {
        let part = unsafe curl.addPart(form)
        try check(unsafe curl.setPartName(part, name))
        try check(unsafe curl.setPartData(part, text, text.utf8.count))
    }

    /// Adds a file to the form, read while it is sent.
    func addPart(name: String, file: String) throws(CredentialError) {
        let part = unsafe curl.addPart(form)
        try check(unsafe curl.setPartName(part, name))
        try check(unsafe curl.setPartFile(part, file))
    }

    /// Hands each line of the reply's head, and each piece of its body, to a function.
    func setReceivers(
        head: CurlDataCallback, body: CurlDataCallback, context: UnsafeMutableRawPointer
    ) throws(CredentialError) {
        let set = unsafe curl.setOption
        try check(unsafe credmgr_curl_set_data_callback(set, handle, CURLOPT_HEADERFUNCTION, head))
        try check(unsafe credmgr_curl_set_pointer(set, handle, CURLOPT_HEADERDATA, context))
        try check(unsafe credmgr_curl_set_data_callback(set, handle, CURLOPT_WRITEFUNCTION, body))
        try check(unsafe credmgr_curl_set_pointer(set, handle, CURLOPT_WRITEDATA, context))
    }

    /// Asks a function for the bytes to send.
    func setReader(_ reader: CurlDataCallback, context: UnsafeMutableRawPointer) throws(CredentialError) {
        let set = unsafe curl.setOption
        try check(unsafe credmgr_curl_set_data_callback(set, handle, CURLOPT_READFUNCTION, reader))
        try check(unsafe credmgr_curl_set_pointer(set, handle, CURLOPT_READDATA, context))
    }

    /// Tells a function about the transfer's progress.
    func setProgress(
        _ progress: CurlProgressCallback, context: UnsafeMutableRawPointer
    ) throws(CredentialError) {
        try set(.noProgress, 0)
        try check(unsafe credmgr_curl_set_progress_callback(curl.setOption, handle, progress))
        try check(unsafe credmgr_curl_set_pointer(curl.setOption, handle, CURLOPT_XFERINFODATA, context))
    }

    /// Opens sockets for the addresses only that a rule admits; it must outlive ``perform()``.
    func setSocketRule(_ rule: SocketRule) throws(CredentialError) {
        let context = unsafe Unmanaged.passUnretained(rule).toOpaque()
        try check(unsafe credmgr_curl_set_socket_opener(curl.setOption, handle, Self.openSocket))
        try check(unsafe credmgr_curl_set_pointer(curl.setOption, handle, CURLOPT_OPENSOCKETDATA, context))
    }

    private static let openSocket: curl_opensocket_callback = { context, _, place in
        guard let place = unsafe place, let context = unsafe context else { return -1 }
        let rule = unsafe Unmanaged<SocketRule>.fromOpaque(context).takeUnretainedValue()
        let address = unsafe withUnsafePointer(to: &place.pointee.addr) { unsafe SocketAddress($0) }
        guard address.map(rule.admits) ?? true else { return -1 }
        // CLOEXEC, as libcurl sets it by itself.
        return unsafe socket(
            place.pointee.family, place.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), place.pointee.protocol)
    }

    /// Does the transfer, blocking; returns the failure, `nil` if it succeeded.
    func perform() -> CurlFailure? {
        let code = unsafe curl.perform(handle)
        guard code != CURLE_OK else { return nil }
        var systemError = 0
        _ = unsafe credmgr_curl_get_long(curl.getInformation, handle, CURLINFO_OS_ERRNO, &systemError)
        return unsafe CurlFailure(
            code: code.rawValue, systemError: Int32(truncatingIfNeeded: systemError),
            text: String(cString: errorText))
    }
}
