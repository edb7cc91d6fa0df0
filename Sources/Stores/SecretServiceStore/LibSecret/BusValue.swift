import CLibSecret

/// A value to send over the bus.
indirect enum BusValue: Sendable {
    case string(String)
    case path(String)
    case boolean(Bool)
    case variant(BusValue)
    case entry(String, BusValue)
    /// Elements and their type, which an empty array needs.
    case array(of: String, [BusValue])
    case tuple([BusValue])
    /// One that libsecret made.
    case built(BusReply)
}

/// A value that came over the bus, or that libsecret made for it.
@safe final class BusReply: @unchecked Sendable {
    // Immutable, and variants count their references atomically.
    let pointer: OpaquePointer
    private let library: LibSecret

    init(owning pointer: OpaquePointer, _ library: LibSecret) {
        unsafe self.pointer = pointer
        self.library = library
    }

    deinit { unsafe library.glib.g_variant_unref(pointer) }

    /// The members of a tuple or array.
    var children: [BusReply] {
        let count = unsafe library.glib.g_variant_n_children(pointer)
        return (0..<count).compactMap { index in
            unsafe library.glib.g_variant_get_child_value(pointer, index).map {
                unsafe BusReply(owning: $0, library)
            }
        }
    }

    /// The content of a variant, if it is of `type`.
    func unwrapped(as type: String) -> BusReply? {
        guard isOfType("v"), let inner = unsafe library.glib.g_variant_get_variant(pointer) else { return nil }
        let value = unsafe BusReply(owning: inner, library)
        return value.isOfType(type) ? value : nil
    }

    /// The text of a string or object path; empty for anything else.
    var text: String {
        guard isOfType("s") || isOfType("o"), let text = unsafe library.glib.g_variant_get_string(pointer, nil)
        else {
            return ""
        }
        return unsafe String(cString: text)
    }

    /// The truth of a boolean; false for anything else.
    var truth: Bool {
        guard isOfType("b") else { return false }
        return unsafe library.glib.g_variant_get_boolean(pointer) != 0
    }

    /// The number of an unsigned integer; 0 for anything else.
    var number: UInt64 {
        if isOfType("t") { return unsafe library.glib.g_variant_get_uint64(pointer) }
        return isOfType("u") ? UInt64(unsafe library.glib.g_variant_get_uint32(pointer)) : 0
    }

    private func isOfType(_ type: String) -> Bool { unsafe library.glib.g_variant_is_of_type(pointer, type) != 0 }
}
