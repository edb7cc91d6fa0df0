import CLibSecret
import CredentialCore
import Glibc
import Platform

/// A method of the service's main object, with arguments and the type of its answer.
struct MethodCall: Sendable {
    let method: String
    let arguments: BusValue
    let reply: String
}

/// One connection to the session bus with one encrypted session of the Secret Service on it. The key for it is
/// agreed on in the background, as that takes the longest, while the service answers the questions that need no
/// key.
@safe final class SecretServiceConnection: @unchecked Sendable {
    /// The well-known name of the service. The variable is libsecret's, which uses it instead of any name that it
    /// is given: our own calls must go to the same service.
    static let name =
        unsafe getenv("SECRET_SERVICE_BUS_NAME").map { unsafe String(cString: $0) } ?? "org.freedesktop.secrets"
    /// The interface of the service's main object.
    static let interface = "org.freedesktop.Secret.Service"
    /// The service's main object.
    static let servicePath = "/org/freedesktop/secrets"

    // Immutable after `init`; connections may be used from any thread. They go in this order.
    private let agreement: ThreadTask<EncryptedSession, SecretServiceError>
    private let connectionHandle: LibSecretHandle
    private let contextHandle: LibSecretHandle
    let library: LibSecret
    /// The service's answer to the question given to the initializer.
    let firstAnswer: BusReply

    /// The `GDBusConnection`.
    var connection: OpaquePointer { unsafe connectionHandle.pointer }

    /// Connects, begins to agree on a key with the service, and asks it a first question meanwhile: it then answers
    /// later questions while this process makes its half of the key.
    ///
    /// GIO shares one session bus per process, so a process works with one bus address at a time.
    init(
        library: LibSecret, asking firstQuestion: MethodCall, whileWaiting: () -> Void,
        until deadline: Deadline
    ) throws(SecretServiceError) {
        let glib = library.glib
        let context = try library.mainContext()
        unsafe glib.g_main_context_push_thread_default(context.pointer)
        defer { unsafe glib.g_main_context_pop_thread_default(context.pointer) }
        var error: UnsafeMutablePointer<credmgr_error>?
        guard let bus = unsafe glib.g_bus_get_sync(Int32(CREDMGR_BUS_SESSION), nil, &error) else {
            throw unsafe SecretServiceError(.noBus, library.fault(error).message)
        }
        let connection = unsafe LibSecretHandle(object: bus, of: library)
        // GIO would end the process when the bus goes away.
        unsafe glib.g_dbus_connection_set_exit_on_close(bus, 0)

        let agreement: ThreadTask<EncryptedSession, SecretServiceError>
        do throws(CredentialError) {
            agreement = try ThreadTask { () throws(SecretServiceError) in try EncryptedSession(library: library) }
        } catch {
            throw SecretServiceError(.other, error.text)
        }
        self.agreement = agreement
        do throws(SecretServiceError) {
            // libsecret's own calls wait for 25 s: this one has a deadline, and asks a question that is needed
            // anyway.
            firstAnswer = try unsafe Self.call(
                bus, library, Self.servicePath, Self.interface, firstQuestion.method, firstQuestion.arguments,
                firstQuestion.reply, deadline)
        } catch {
            // GIO would give the next try the same connection as long as anybody holds it.
            _ = agreement.end(until: deadline)
            throw error
        }
        whileWaiting()
        self.library = library
        self.connectionHandle = connection
        self.contextHandle = context
    }

    /// The session, as soon as a key is agreed on.
    func session(until deadline: Deadline) throws(SecretServiceError) -> EncryptedSession {
        guard let result = agreement.result(until: deadline) else {
            throw SecretServiceError(.timedOut, "the key agreement with the keyring timed out")
        }
        return try result.get()
    }

    /// Waits until the background lets go of the connection; false when it does not by the deadline.
    func settle(until deadline: Deadline) -> Bool { agreement.end(until: deadline) }

    /// Calls a method of the service; `reply` is the type that the answer must have.
    func call(
        _ path: String, _ interface: String, _ method: String, _ arguments: BusValue, reply: String,
        until deadline: Deadline, of name: String = SecretServiceConnection.name
    ) throws(SecretServiceError) -> BusReply {
        try unsafe Self.call(
            connection, library, path, interface, method, arguments, reply, deadline, of: name)
    }

    private static func call(
        _ connection: OpaquePointer, _ library: LibSecret, _ path: String, _ interface: String, _ method: String,
        _ arguments: BusValue, _ reply: String, _ deadline: Deadline, of name: String = SecretServiceConnection.name
    ) throws(SecretServiceError) -> BusReply {
        var error: UnsafeMutablePointer<credmgr_error>?
        let answer = unsafe library.glib.g_dbus_connection_call_sync(
            connection, name, path, interface, method, library.floating(arguments), reply, 0,
            deadline.remainingMilliseconds, nil, &error)
        if let answer = unsafe answer { return unsafe BusReply(owning: answer, library) }
        let fault = unsafe library.fault(error)
        // GIO ends the waiting calls and then marks the connection as closed, both under a lock that this takes:
        // later code sees the connection as it is.
        _ = unsafe library.glib.g_dbus_connection_get_last_serial(connection)
        let isClosed = unsafe library.glib.g_dbus_connection_is_closed(connection) != 0
        throw SecretServiceError(isClosed ? .disconnected : fault.kind, fault.message, object: path)
    }
}
