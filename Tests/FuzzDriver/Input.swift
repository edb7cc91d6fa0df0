import FuzzTargets

/// The steps that are taken with each input.
enum Input {
    /// The target of this process, set before the first input.
    nonisolated(unsafe) static var target: FuzzTarget?
}

/// Reads one input; libFuzzer's own `main`, which is not used, wants it under this name.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Input.target?.read(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
