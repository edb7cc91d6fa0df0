import CLibSecret

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
