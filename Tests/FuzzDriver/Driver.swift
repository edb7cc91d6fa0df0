import FuzzTargets

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// `main`: SwiftPM has the program begin at MODULE_main.
///
/// usage: credmgr-fuzz TARGET [libFuzzer's words]; without a word it lists the targets.
@_cdecl("credmgr_fuzz_main")
func credmgrFuzzMain(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    guard count > 1, let word = arguments[1] else {
        for target in FuzzTarget.all { print(target.name) }
        return 0
    }
    guard let chosen = FuzzTarget.all.first(where: { $0.name == String(cString: word) }) else {
        print("no such target: \(String(cString: word))")
        return 2
    }
    Input.target = chosen
    // The program's name takes the place of the target's: libFuzzer wants it before its own words.
    arguments[1] = arguments[0]
    var count = count - 1
    var rest: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = arguments + 1
    return runDriver(&count, &rest, testOneInput)
}
