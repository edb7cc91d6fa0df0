import CLibCrypto
import CredentialCore
import Glibc
import Platform

/// OpenSSL's libcrypto 3: the one place that touches it.
///
/// Bytes in, bytes out; the rules of JOSE are in other files. A call that fails throws ``ErrorCode/internalFault``
/// with the library's own reason in its details and leaves the library's error queue empty.
@safe final class LibCrypto: @unchecked Sendable {
    // Immutable after `init`; libcrypto 3 may be called from any thread.
    private let table: UnsafeMutablePointer<crypto_functions>
    private var crypto: crypto_functions { unsafe table.pointee }

    /// Opens the library.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when it is not installed.
    init() throws(CredentialError) {
        let library = try DynamicLibrary("libcrypto.so.3", package: "libssl3")
        unsafe table = .allocate(capacity: 1)
        let slots = unsafe UnsafeMutableRawPointer(table)
        for index in 0..<crypto_function_count {
            let name = unsafe String(cString: crypto_function_name(index))
            let offset = unsafe index * MemoryLayout<UnsafeMutableRawPointer>.stride
            unsafe slots.storeBytes(
                of: try library.symbol(name), toByteOffset: offset, as: UnsafeMutableRawPointer.self)
        }
    }

    deinit { unsafe table.deallocate() }

    // MARK: Digest, key derivation

    /// The digest of `bytes`; `algorithm` is OpenSSL's name of it.
    func digest(_ bytes: [UInt8], algorithm: String) throws(CredentialError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 64)
        var length = 0
        guard unsafe crypto.EVP_Q_digest(nil, algorithm, nil, bytes, bytes.count, &digest, &length) == 1 else {
            throw failure("compute a digest")
        }
        return Array(digest.prefix(length))
    }

    /// Derives `length` bytes by `SCRYPT`, or another of the library's functions for that.
    func derive(
        _ algorithm: String, _ parameters: [CryptoParameter], length: Int
    ) throws(CredentialError) -> [UInt8] {
        let list = unsafe self.list(parameters)
        defer { unsafe release(list) }
        let function = unsafe crypto.EVP_KDF_fetch(nil, algorithm, nil)
        let context = unsafe crypto.EVP_KDF_CTX_new(function)
        defer {
            unsafe crypto.EVP_KDF_CTX_free(context)
            unsafe crypto.EVP_KDF_free(function)
        }
        var output = [UInt8](repeating: 0, count: length)
        guard unsafe context != nil, unsafe crypto.EVP_KDF_derive(context, &output, length, list) == 1 else {
            throw failure("derive a key")
        }
        return output
    }

    // MARK: Keys

    /// A key of signatures; `type` is OpenSSL's name of its kind.
    func key(
        type: String, parameters: [CryptoParameter], from source: LibCryptoKey.Source
    ) throws(CredentialError) -> LibCryptoKey {
        let list = unsafe self.list(parameters)
        let context = unsafe crypto.EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer {
            unsafe crypto.EVP_PKEY_CTX_free(context)
            unsafe release(list)
        }
        guard unsafe context != nil else { throw failure("make a key") }
        var key: OpaquePointer?
        if source == .chance {
            guard unsafe crypto.EVP_PKEY_keygen_init(context) == 1,
                unsafe crypto.EVP_PKEY_CTX_set_params(context, list) == 1,
                unsafe crypto.EVP_PKEY_generate(context, &key) == 1
            else { throw failure("make a key") }
        } else {
            let selection = source == .keyPair ? crypto_key_pair : crypto_public_key
            guard unsafe crypto.EVP_PKEY_fromdata_init(context) == 1,
                unsafe crypto.EVP_PKEY_fromdata(context, &key, selection, list) == 1
            else { throw failure("take the key") }
        }
        return unsafe try owned(key)
    }

    /// The unencrypted private key in a PEM text, PKCS #8 or traditional.
    func key(pem: [UInt8]) throws(CredentialError) -> LibCryptoKey {
        let source = unsafe crypto.BIO_new_mem_buf(pem, Int32(clamping: pem.count))
        defer { unsafe _ = crypto.BIO_free(source) }
        // An empty password: without one the library would ask for it on the terminal.
        var password: [UInt8] = [0]
        return unsafe try owned(crypto.PEM_read_bio_PrivateKey(source, nil, nil, &password))
    }

    /// Whether `key` is of a kind, by OpenSSL's name.
    func isKey(_ key: LibCryptoKey, of type: String) -> Bool { unsafe crypto.EVP_PKEY_is_a(key.handle, type) == 1 }

    /// The size of `key` in bits.
    func bits(of key: LibCryptoKey) -> Int { Int(unsafe crypto.EVP_PKEY_get_bits(key.handle)) }

    /// The name of the curve of `key`, if it has one.
    func curve(of key: LibCryptoKey) -> String? {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        let found = unsafe crypto.EVP_PKEY_get_utf8_string_param(
            key.handle, OSSL_PKEY_PARAM_GROUP_NAME, &name, name.count, &length)
        crypto.ERR_clear_error()
        return found == 1 ? String(decoding: name.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    /// The large number of `key` called `name`, big-endian; with zeros in front if it is shorter than `width`.
    func number(_ name: String, of key: LibCryptoKey, width: Int = 0) throws(CredentialError) -> [UInt8] {
        var number: OpaquePointer?
        defer { unsafe crypto.BN_clear_free(number) }
        guard unsafe crypto.EVP_PKEY_get_bn_param(key.handle, name, &number) == 1 else {
            throw failure("read the key")
        }
        let size = max(width, (Int(unsafe crypto.BN_num_bits(number)) + 7) / 8)
        var bytes = [UInt8](repeating: 0, count: size)
        guard unsafe crypto.BN_bn2binpad(number, &bytes, Int32(clamping: size)) >= 0 else {
            throw failure("read the key")
        }
        return bytes
    }

    /// The bytes of `key` called `name`, at most 256.
    func octets(_ name: String, of key: LibCryptoKey) throws(CredentialError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        var length = 0
        guard unsafe crypto.EVP_PKEY_get_octet_string_param(key.handle, name, &bytes, bytes.count, &length) == 1
        else { throw failure("read the key") }
        return Array(bytes.prefix(length))
    }

    /// The secret of two keys of one kind; `nil` when they do not go together. At most 256 bytes.
    func agree(_ own: LibCryptoKey, _ other: LibCryptoKey) -> [UInt8]? {
        let context = unsafe crypto.EVP_PKEY_CTX_new_from_pkey(nil, own.handle, nil)
        defer {
            unsafe crypto.EVP_PKEY_CTX_free(context)
            crypto.ERR_clear_error()
        }
        var secret = [UInt8](repeating: 0, count: 256)
        var length = secret.count
        guard unsafe context != nil, unsafe crypto.EVP_PKEY_derive_init(context) == 1,
            unsafe crypto.EVP_PKEY_derive_set_peer(context, other.handle) == 1,
            unsafe crypto.EVP_PKEY_derive(context, &secret, &length) == 1
        else { return nil }
        defer { secret.wipe() }
        return Array(secret.prefix(length))
    }

    // MARK: Signatures

    /// Signs; `digest` is `nil` for algorithms that bring their own.
    func sign(
        _ message: [UInt8], key: LibCryptoKey, digest: String?, parameters: [CryptoParameter]
    ) throws(CredentialError) -> [UInt8] {
        let list = unsafe self.list(parameters)
        let context = unsafe crypto.EVP_MD_CTX_new()
        defer {
            unsafe crypto.EVP_MD_CTX_free(context)
            unsafe release(list)
        }
        var signature = [UInt8](repeating: 0, count: 2_048 + 16)
        var length = signature.count
        guard unsafe crypto.EVP_DigestSignInit_ex(context, nil, digest, nil, nil, key.handle, list) == 1,
            unsafe crypto.EVP_DigestSign(context, &signature, &length, message, message.count) == 1
        else { throw failure("sign") }
        return Array(signature.prefix(length))
    }

    /// Whether the signature holds.
    func verify(
        _ signature: [UInt8], of message: [UInt8], key: LibCryptoKey, digest: String?,
        parameters: [CryptoParameter]
    ) throws(CredentialError) -> Bool {
        let list = unsafe self.list(parameters)
        let context = unsafe crypto.EVP_MD_CTX_new()
        defer {
            unsafe crypto.EVP_MD_CTX_free(context)
            unsafe release(list)
        }
        guard unsafe crypto.EVP_DigestVerifyInit_ex(context, nil, digest, nil, nil, key.handle, list) == 1 else {
            throw failure("check a signature")
        }
        // Anything but 1 is an invalid signature: how the library distinguishes a malformed one from a false one
        // depends on the algorithm.
        let result = unsafe crypto.EVP_DigestVerify(
            context, signature, signature.count, message, message.count)
        crypto.ERR_clear_error()
        return result == 1
    }

    // MARK: Helpers

    /// The parameters as the library takes them, to be released by ``release(_:)``.
    private func list(_ parameters: [CryptoParameter]) -> UnsafeMutablePointer<OSSL_PARAM> {
        let list = UnsafeMutablePointer<OSSL_PARAM>.allocate(capacity: parameters.count + 1)
        for (index, parameter) in parameters.enumerated() {
            let bytes = parameter.bytes
            // A zero more at the end, for texts.
            let data = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 8)
            unsafe data.initializeMemory(as: UInt8.self, repeating: 0, count: bytes.count + 1)
            unsafe bytes.withUnsafeBytes { source in
                if let address = source.baseAddress {
                    unsafe data.copyMemory(from: address, byteCount: bytes.count)
                }
            }
            let type =
                switch parameter {
                case .text: OSSL_PARAM_UTF8_STRING
                case .octets: OSSL_PARAM_OCTET_STRING
                case .integer, .number: OSSL_PARAM_UNSIGNED_INTEGER
                }
            unsafe (list + index).initialize(
                to: OSSL_PARAM(
                    key: strdup(parameter.name), data_type: UInt32(type), data: data, data_size: bytes.count,
                    return_size: 0))
        }
        unsafe (list + parameters.count).initialize(to: OSSL_PARAM())
        return unsafe list
    }

    /// Wipes and frees a list of parameters.
    private func release(_ list: UnsafeMutablePointer<OSSL_PARAM>) {
        var item = unsafe list
        while let name = unsafe item.pointee.key {
            unsafe explicit_bzero(item.pointee.data, item.pointee.data_size)
            unsafe item.pointee.data.deallocate()
            unsafe free(UnsafeMutablePointer(mutating: name))
            unsafe item += 1
        }
        unsafe list.deallocate()
    }

    private func owned(_ key: OpaquePointer?) throws(CredentialError) -> LibCryptoKey {
        guard let key = unsafe key else { throw failure("read the key") }
        crypto.ERR_clear_error()
        return unsafe LibCryptoKey(key, free: crypto.EVP_PKEY_free)
    }

    /// The failure that the library has noted, with its reason; empties the library's queue.
    private func failure(_ task: String) -> CredentialError {
        let code = crypto.ERR_get_error()
        crypto.ERR_clear_error()
        let reason = unsafe crypto.ERR_reason_error_string(code).map { unsafe String(cString: $0) }
        return CredentialError(
            .internalFault, "libcrypto could not \(task)", details: ["libcrypto: " + (reason ?? "error \(code)")])
    }
}
