import CLibSecret
import CredentialCore

/// An encrypted session with the Secret Service: libsecret has agreed on a key with it.
@safe final class EncryptedSession: @unchecked Sendable {
    // Immutable after `init`; proxies may be used from any thread. They go in this order.
    private let serviceHandle: LibSecretHandle
    // Work that GIO queues for a main loop lands here and is done at the end. In the default context, which no
    // thread runs, it would keep a closed connection alive, and the next connection opened would be that one.
    private let contextHandle: LibSecretHandle
    private let library: LibSecret
    /// The session's object path.
    let path: String

    private var service: OpaquePointer { unsafe serviceHandle.pointer }

    /// Agrees on a key with the service on the session bus, which libsecret waits for as long as 25 s.
    init(library: LibSecret) throws(SecretServiceError) {
        let glib = library.glib
        let context = try library.mainContext()
        unsafe glib.g_main_context_push_thread_default(context.pointer)
        defer { unsafe glib.g_main_context_pop_thread_default(context.pointer) }
        var error: UnsafeMutablePointer<credmgr_error>?
        guard
            let proxy = unsafe glib.secret_service_open_sync(
                library.serviceType, SecretServiceConnection.name, 0, nil, &error)
        else { throw unsafe library.fault(error) }
        let service = unsafe LibSecretHandle(object: proxy, of: library)
        self.path = try unsafe Self.open(proxy, library)
        self.library = library
        self.serviceHandle = service
        self.contextHandle = context
    }

    private static func open(_ service: OpaquePointer, _ library: LibSecret) throws(SecretServiceError) -> String {
        let glib = library.glib
        // Some services refuse about one public key in 256, one that happens to begin with a zero: a new try has a
        // new key.
        var attempts = 0
        while true {
            attempts += 1
            var error: UnsafeMutablePointer<credmgr_error>?
            if unsafe glib.secret_service_ensure_session_sync(service, nil, &error) != 0 { break }
            let fault = unsafe library.fault(error)
            if fault.kind != .other || attempts == 3 { throw fault }
        }
        guard let path = unsafe glib.secret_service_get_session_dbus_path(service),
            let algorithm = unsafe glib.secret_service_get_session_algorithms(service)
        else { throw SecretServiceError(.other, "libsecret opened no session") }
        guard unsafe String(cString: algorithm) != "plain" else {
            throw SecretServiceError(.noEncryption, "the session would not be encrypted")
        }
        return unsafe String(cString: path)
    }

    /// A secret encrypted for this session.
    func encrypted(_ secret: [UInt8]) throws(SecretServiceError) -> BusReply {
        let glib = library.glib
        let value = unsafe secret.withUnsafeBytes { bytes in
            unsafe glib.secret_value_new(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, "application/octet-stream")
        }
        guard let value = unsafe value else { throw SecretServiceError(.other, "libsecret refused the secret") }
        defer { unsafe glib.secret_value_unref(UnsafeMutableRawPointer(value)) }
        guard let encoded = unsafe glib.secret_service_encode_dbus_secret(service, value),
            let owned = unsafe glib.g_variant_ref_sink(encoded)
        else { throw SecretServiceError(.other, "libsecret could not encrypt the secret") }
        return unsafe BusReply(owning: owned, library)
    }

    /// The secret in `reply`, or `nil` when it was not encrypted for this session.
    func decrypted(_ reply: BusReply) -> GuardedSecret? {
        unsafe library.glib.secret_service_decode_dbus_secret(service, reply.pointer).map {
            unsafe GuardedSecret(owning: $0, library)
        }
    }
}
