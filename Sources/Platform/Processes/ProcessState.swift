import Glibc

/// The kernel's facts about a process (proc_pid_stat(5)).
enum ProcessState {
    /// Whether it was stopped by a signal, or by the process that traces it.
    static func isStopped(_ process: Int32) -> Bool { ["T", "t"].contains(fields(of: process)?.first) }

    /// When it started, in clock ticks since the boot (field 22); `nil` if there is no such process, or it has
    /// ended and waits for its parent.
    static func startTime(of process: Int32) -> String? {
        guard let fields = fields(of: process), fields.count > 19, !["Z", "X"].contains(fields[0]) else {
            return nil
        }
        return fields[19]
    }

    /// The fields from the state (the third) on; `nil` if there is no such process.
    private static func fields(of process: Int32) -> [String]? {
        let number = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = FileDescriptor(owning: number)
        let text = String(decoding: file.read(1_024, at: 0), as: UTF8.self)
        // The name in brackets may hold anything; the fields are the words behind the last one.
        guard let bracket = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: bracket)...].split(separator: " ").map(String.init)
    }
}
