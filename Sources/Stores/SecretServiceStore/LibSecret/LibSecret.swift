import CLibSecret
import CredentialCore
import Platform
import Synchronization

/// libsecret, opened at first use, with the parts of GLib and GIO that come with it.
///
/// Only the files of this directory touch their memory: Swift values leave it, objects that free themselves, and
/// ``SecretServiceError``s made of errors that are freed here.
@safe final class LibSecret: @unchecked Sendable {
    // Immutable after `init`.
    let glib: credmgr_libsecret

    /// Opens the library and silences GLib's own messages: standard error is ours.
    init() throws(SecretServiceError) {
        var functions = credmgr_libsecret()
        do throws(CredentialError) {
            let library = try DynamicLibrary("libsecret-1.so.0", package: "libsecret-1-0")
            for index in 0..<Int(CREDMGR_LIBSECRET_COUNT) {
                guard let name = unsafe credmgr_libsecret_name(index) else { continue }
                let address = try unsafe library.symbol(String(cString: name))
                unsafe credmgr_libsecret_set(&functions, index, address)
            }
        } catch {
            throw SecretServiceError(.noLibrary, error.text)
        }
        glib = functions
        _ = unsafe glib.g_log_set_default_handler({ _, _, _, _ in }, nil)
    }

    /// Turns a GLib error into a fault, and frees it.
    func fault(_ error: UnsafeMutablePointer<credmgr_error>?) -> SecretServiceError {
        guard let error = unsafe error else { return SecretServiceError(.other, "libsecret gave no reason") }
        defer { unsafe glib.g_error_free(error) }
        var name: String?
        if let remote = unsafe glib.g_dbus_error_get_remote_error(error) {
            name = unsafe String(cString: remote)
            unsafe glib.g_free(remote)
            _ = unsafe glib.g_dbus_error_strip_remote_error(error)
        }
        let message = unsafe error.pointee.message.map { unsafe String(cString: $0) } ?? ""
        if let name { return SecretServiceError(remoteError: name, message) }
        guard unsafe error.pointee.domain == glib.g_io_error_quark() else {
            return SecretServiceError(.other, LocalizedMessage(verbatim: message))
        }
        switch Int(unsafe error.pointee.code) {
        case Int(CREDMGR_IO_ERROR_CLOSED):
            return SecretServiceError(.disconnected, LocalizedMessage(verbatim: message))
        case Int(CREDMGR_IO_ERROR_TIMED_OUT):
            return SecretServiceError(.timedOut, LocalizedMessage(verbatim: message))
        default: return SecretServiceError(.other, LocalizedMessage(verbatim: message))
        }
    }

    /// The type of the proxies of the service. libsecret's own would ask the bus and the service three unneeded
    /// questions, one after the other, before a key is agreed on.
    var serviceType: UInt {
        Self.registeredType.withLock { type in
            if type == 0 {
                type = unsafe withUnsafePointer(to: glib) { unsafe credmgr_libsecret_lone_service($0) }
            }
            return type
        }
    }

    /// GLib keeps a type as long as the process lives; 0 before there is one.
    private static let registeredType = Mutex<UInt>(0)

    /// A main context of our own.
    func mainContext() throws(SecretServiceError) -> LibSecretHandle {
        guard let context = glib.g_main_context_new() else { throw SecretServiceError(.other, "no main context") }
        return unsafe LibSecretHandle(context: context, of: self)
    }

    /// Builds the variant of `value`; the result floats, so that the next call takes it over.
    func floating(_ value: BusValue) -> OpaquePointer? {
        switch value {
        case .string(let text): unsafe glib.g_variant_new_string(text)
        case .path(let path): unsafe glib.g_variant_new_object_path(path)
        case .boolean(let truth): glib.g_variant_new_boolean(truth ? 1 : 0)
        case .variant(let inner): unsafe glib.g_variant_new_variant(floating(inner))
        case .entry(let key, let inner):
            unsafe glib.g_variant_new_dict_entry(floating(.string(key)), floating(inner))
        case .array(let type, let elements):
            unsafe glib.g_variant_new_array(type, elements.map { unsafe floating($0) }, UInt(elements.count))
        case .tuple(let members):
            unsafe glib.g_variant_new_tuple(members.map { unsafe floating($0) }, UInt(members.count))
        case .built(let variant): unsafe variant.pointer
        }
    }
}

/// An object of GLib's that is released with this one.
@safe final class LibSecretHandle: @unchecked Sendable {
    /// The object, valid as long as this handle.
    let pointer: OpaquePointer
    private let release: @Sendable (OpaquePointer) -> Void

    /// Takes over one reference of a `GObject`.
    init(object: OpaquePointer, of library: LibSecret) {
        unsafe pointer = object
        unsafe release = { unsafe library.glib.g_object_unref(UnsafeMutableRawPointer($0)) }
    }

    /// Takes over one reference of a `GMainContext`. Its pending work is done before the context is released: the
    /// news that a connection was closed holds that connection, which holds its context.
    init(context: OpaquePointer, of library: LibSecret) {
        unsafe pointer = context
        unsafe release = { context in
            while unsafe library.glib.g_main_context_iteration(context, 0) != 0 {}
            unsafe library.glib.g_main_context_unref(context)
        }
    }

    deinit { unsafe release(pointer) }
}

/// A secret in libsecret's own memory, which is locked against swapping and wiped when it is freed.
@safe final class GuardedSecret {
    private let value: OpaquePointer
    private let library: LibSecret

    init(owning value: OpaquePointer, _ library: LibSecret) {
        unsafe self.value = value
        self.library = library
    }

    deinit { unsafe library.glib.secret_value_unref(UnsafeMutableRawPointer(value)) }

    /// A copy of the bytes.
    var bytes: [UInt8] { unsafe withBytes { unsafe Array($0) } }

    /// Whether these are the bytes; no copy is made.
    func holds(_ expected: [UInt8]) -> Bool {
        unsafe withBytes { unsafe $0.elementsEqual(expected) }
    }

    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var length: UInt = 0
        let start = unsafe library.glib.secret_value_get(value, &length)
        return unsafe body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(clamping: length)))
    }
}
