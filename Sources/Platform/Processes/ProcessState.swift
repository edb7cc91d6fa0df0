import Glibc

/// What the kernel says of another process (proc(5)).
enum ProcessState {
    /// Whether it was stopped by a signal, or by who traces it.
    static func isStopped(_ process: Int32) -> Bool {
        let number = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return false }
        let file = FileDescriptor(owning: number)
        // The name in brackets may hold anything; the state is the word behind the last one.
        let text = file.read(512, at: 0)
        guard let bracket = text.lastIndex(of: UInt8(ascii: ")")), bracket + 2 < text.count else { return false }
        return text[bracket + 2] == UInt8(ascii: "T") || text[bracket + 2] == UInt8(ascii: "t")
    }
}
