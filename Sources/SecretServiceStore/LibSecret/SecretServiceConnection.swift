import CLibSecret
import Glibc
import LinuxPlatform

/// A method of the service's main object, with arguments and the type of its answer.
struct ServiceQuestion: Sendable {
    let method: String
    let arguments: BusValue
    let reply: String
}

/// One connection to the session bus with one encrypted session of the Secret Service on it.
@safe final class SecretServiceConnection: @unchecked Sendable {
    /// The well-known name of the service. The variable is libsecret's, which goes by it whatever name it is given:
    /// our own calls must go to the same service.
    static let name =
        unsafe getenv("SECRET_SERVICE_BUS_NAME").map { unsafe String(cString: $0) } ?? "org.freedesktop.secrets"
    /// The interface of the service's main object.
    static let interface = "org.freedesktop.Secret.Service"
    /// The service's main object.
    static let servicePath = "/org/freedesktop/secrets"

    // Immutable after `init`; connections and proxies may be used from any thread. They go in this order.
    private let serviceHandle: LibSecretHandle
    private let connectionHandle: LibSecretHandle
    // What GIO queues for a main loop lands here and is done at the end; in the default context, which nobody runs, it
    // would keep a closed connection alive, and the next one opened would be that one.
    private let contextHandle: LibSecretHandle
    let library: LibSecret
    /// The object path of the encrypted session.
    let session: String

    /// What the service answered to the question given to the initializer.
    let firstAnswer: BusReply

    /// The `GDBusConnection`.
    var connection: OpaquePointer { unsafe connectionHandle.pointer }
    private var service: OpaquePointer { unsafe serviceHandle.pointer }

    /// Connects, asks the service a first question, and agrees on a key with it.
    ///
    /// GIO shares one session bus per process, so a process works with one bus address at a time.
    init(library: LibSecret, asking firstQuestion: ServiceQuestion, until deadline: Deadline) throws(ServiceFault) {
        let glib = library.glib
        let context = try library.mainContext()
        unsafe glib.g_main_context_push_thread_default(context.pointer)
        defer { unsafe glib.g_main_context_pop_thread_default(context.pointer) }
        var error: UnsafeMutablePointer<credmgr_error>?
        guard let bus = unsafe glib.g_bus_get_sync(Int32(CREDMGR_BUS_SESSION), nil, &error) else {
            throw unsafe ServiceFault(.noBus, library.fault(error).message)
        }
        let connection = unsafe LibSecretHandle(object: bus, of: library)
        // GIO would end the process when the bus goes away.
        unsafe glib.g_dbus_connection_set_exit_on_close(bus, 0)

        // libsecret's own calls wait for 25 s: ask with a deadline first, and something that is needed anyway.
        firstAnswer = try unsafe Self.call(
            bus, library, Self.servicePath, Self.interface, firstQuestion.method, firstQuestion.arguments,
            firstQuestion.reply, deadline)

        unsafe error = nil
        guard
            let proxy = unsafe glib.secret_service_open_sync(
                glib.secret_service_get_type(), Self.name, 0, nil, &error)
        else { throw unsafe library.fault(error) }
        let service = unsafe LibSecretHandle(object: proxy, of: library)
        self.session = try unsafe Self.openSession(proxy, library)
        self.library = library
        self.serviceHandle = service
        self.connectionHandle = connection
        self.contextHandle = context
    }

    private static func openSession(_ service: OpaquePointer, _ library: LibSecret) throws(ServiceFault) -> String {
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
        else { throw ServiceFault(.other, "libsecret opened no session") }
        guard unsafe String(cString: algorithm) != "plain" else {
            throw ServiceFault(.noEncryption, "the session would not be encrypted")
        }
        return unsafe String(cString: path)
    }

    /// Calls a method of the service; `reply` is the type that the answer must have.
    func call(
        _ path: String, _ interface: String, _ method: String, _ arguments: BusValue, reply: String,
        until deadline: Deadline, of name: String = SecretServiceConnection.name
    ) throws(ServiceFault) -> BusReply {
        try unsafe Self.call(
            connection, library, path, interface, method, arguments, reply, deadline, of: name)
    }

    private static func call(
        _ connection: OpaquePointer, _ library: LibSecret, _ path: String, _ interface: String, _ method: String,
        _ arguments: BusValue, _ reply: String, _ deadline: Deadline, of name: String = SecretServiceConnection.name
    ) throws(ServiceFault) -> BusReply {
        var error: UnsafeMutablePointer<credmgr_error>?
        let answer = unsafe library.glib.g_dbus_connection_call_sync(
            connection, name, path, interface, method, library.floating(arguments), reply, 0,
            deadline.remainingMilliseconds, nil, &error)
        if let answer = unsafe answer { return unsafe BusReply(owning: answer, library) }
        let fault = unsafe library.fault(error)
        // GIO ends the waiting calls and then marks the connection as closed, both under a lock that this takes: what
        // follows sees the connection as it is.
        _ = unsafe library.glib.g_dbus_connection_get_last_serial(connection)
        let isClosed = unsafe library.glib.g_dbus_connection_is_closed(connection) != 0
        throw ServiceFault(isClosed ? .disconnected : fault.kind, fault.message, object: path)
    }

    /// A secret encrypted for this session.
    func encrypted(_ secret: [UInt8]) throws(ServiceFault) -> BusReply {
        let glib = library.glib
        let value = unsafe secret.withUnsafeBytes { bytes in
            unsafe glib.secret_value_new(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, "application/octet-stream")
        }
        guard let value = unsafe value else { throw ServiceFault(.other, "libsecret takes no such secret") }
        defer { unsafe glib.secret_value_unref(UnsafeMutableRawPointer(value)) }
        guard let encoded = unsafe glib.secret_service_encode_dbus_secret(service, value),
            let owned = unsafe glib.g_variant_ref_sink(encoded)
        else { throw ServiceFault(.other, "libsecret could not encrypt the secret") }
        return unsafe BusReply(owning: owned, library)
    }

    /// The secret in `reply`, or `nil` when it was not encrypted for this session.
    func decrypted(_ reply: BusReply) -> GuardedSecret? {
        unsafe library.glib.secret_service_decode_dbus_secret(service, reply.pointer).map {
            unsafe GuardedSecret(owning: $0, library)
        }
    }
}
