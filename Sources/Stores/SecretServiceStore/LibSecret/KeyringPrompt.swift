import CLibSecret
import CredentialCore
import Platform

extension SecretServiceConnection {
    /// How a question of the keyring to the person at the screen ended.
    enum PromptOutcome: Equatable {
        /// It was answered; whether that had the wished effect is to be looked at.
        case answered
        /// The person closed it.
        case dismissed
        /// No user answered before the deadline, and it was withdrawn.
        case expired
    }

    /// Lets the keyring ask its question, and waits for the answer.
    ///
    /// libsecret's own way of doing this reports a dismissed question as success, and waits for ever when the
    /// keyring dies meanwhile.
    func ask(_ prompt: String, until deadline: Deadline) throws(SecretServiceError) -> PromptOutcome {
        let glib = library.glib
        let handle = try library.mainContext()
        let context = unsafe handle.pointer
        unsafe glib.g_main_context_push_thread_default(context)
        defer { unsafe glib.g_main_context_pop_thread_default(context) }
        let answer = PromptAnswer(library)
        let data = unsafe Unmanaged.passUnretained(answer).toOpaque()

        let completed = unsafe glib.g_dbus_connection_signal_subscribe(
            connection, Self.name, Self.promptInterface, "Completed", prompt, nil, 0,
            { _, _, _, _, _, parameters, data in unsafe PromptAnswer.from(data)?.completed(parameters) }, data, nil)
        defer { unsafe glib.g_dbus_connection_signal_unsubscribe(connection, completed) }
        let vanished = unsafe glib.g_dbus_connection_signal_subscribe(
            connection, "org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged", "/org/freedesktop/DBus",
            Self.name, 0, { _, _, _, _, _, _, data in unsafe PromptAnswer.from(data)?.serviceVanished = true },
            data,
            nil)
        defer { unsafe glib.g_dbus_connection_signal_unsubscribe(connection, vanished) }
        // Wakes the loop below, so that it sees the deadline and a closed connection.
        let tick = glib.g_timeout_source_new(100)
        unsafe glib.g_source_set_callback(tick, { _ in 1 }, nil, nil)
        _ = unsafe glib.g_source_attach(tick, context)
        defer {
            unsafe glib.g_source_destroy(tick)
            unsafe glib.g_source_unref(tick)
        }

        _ = try call(prompt, Self.promptInterface, "Prompt", .tuple([.string("")]), reply: "()", until: deadline)
        while answer.outcome == nil, !deadline.hasPassed {
            _ = unsafe glib.g_main_context_iteration(context, 1)
            let isClosed = unsafe glib.g_dbus_connection_is_closed(connection) != 0
            if answer.serviceVanished || isClosed {
                throw SecretServiceError(.disconnected, "the keyring disconnected during its prompt")
            }
        }
        if let outcome = answer.outcome { return outcome }
        // Best effort: the keyring takes the question back by itself when this process ends.
        _ = try? call(
            prompt, Self.promptInterface, "Dismiss", .tuple([]), reply: "()", until: Deadline(milliseconds: 500))
        return .expired
    }

    private static var promptInterface: String { "org.freedesktop.Secret.Prompt" }
}

/// The answer of the bus about a prompt; only the thread that runs the prompt's main context uses it.
@safe private final class PromptAnswer {
    var outcome: SecretServiceConnection.PromptOutcome?
    var serviceVanished = false
    private let library: LibSecret

    init(_ library: LibSecret) { self.library = library }

    static func from(_ data: UnsafeMutableRawPointer?) -> PromptAnswer? {
        unsafe data.map { unsafe Unmanaged<PromptAnswer>.fromOpaque($0).takeUnretainedValue() }
    }

    func completed(_ parameters: OpaquePointer?) {
        guard let parameters = unsafe parameters, let owned = unsafe library.glib.g_variant_ref_sink(parameters)
        else {
            return
        }
        outcome = unsafe BusReply(owning: owned, library).children.first?.truth == true ? .dismissed : .answered
    }
}
