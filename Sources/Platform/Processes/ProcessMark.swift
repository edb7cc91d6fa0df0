import Glibc

/// The name of a process that no later process gets: its number, when it started, the boot and the PID namespace.
package struct ProcessMark: Sendable, Hashable {
    /// The number of the process.
    package let processID: Int32
    private let startTime: String
    private let boot: String
    private let namespace: String

    /// The mark of this process; `nil` if `/proc` does not say when it started.
    package static var own: ProcessMark? { ProcessMark(of: getpid()) }

    /// The mark of a process that lives; `nil` if `/proc` does not say when it started.
    package init?(of process: Int32) {
        guard let startTime = Self.startTime(of: process), let boot = Self.currentBoot,
            let namespace = PIDNamespace.own
        else { return nil }
        self.init(processID: process, startTime: startTime, boot: boot, namespace: namespace)
    }

    private init(processID: Int32, startTime: String, boot: String, namespace: String) {
        (self.processID, self.startTime, self.boot, self.namespace) = (processID, startTime, boot, namespace)
    }

    /// Reads what ``bytes`` wrote, at the beginning of `bytes`; `nil` for anything else.
    package init?(_ bytes: [UInt8]) {
        let line = String(decoding: bytes.prefix { $0 != 0x0A && $0 != 0 }, as: UTF8.self)
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 5, words[0] == "process", let number = Int32(words[1]), number > 0 else { return nil }
        self.init(processID: number, startTime: words[2], boot: words[3], namespace: words[4])
    }

    /// The mark as one line of text.
    package var bytes: [UInt8] { Array("process \(processID) \(startTime) \(boot) \(namespace)\n".utf8) }

    /// Whether the process lives, and is not this one. Of a process in another PID namespace that is not known here: it counts as
    /// dead, as does one of an earlier boot.
    package var isAnotherLivingProcess: Bool {
        processID != getpid() && boot == Self.currentBoot && namespace == PIDNamespace.own
            && startTime == Self.startTime(of: processID)
    }

    private static var currentBoot: String? {
        read("/proc/sys/kernel/random/boot_id").flatMap { $0.split(separator: "\n").first.map(String.init) }
    }

    /// When a process started, in clock ticks since the boot (field 22 of proc_pid_stat(5)); `nil` if it is not there, or has
    /// ended and waits for its parent.
    private static func startTime(of process: Int32) -> String? {
        // The name in brackets may hold anything; the fields are the words behind the last one.
        guard let text = read("/proc/\(process)/stat"), let bracket = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: bracket)...].split(separator: " ")
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X" else { return nil }
        return String(fields[19])
    }

    private static func read(_ path: String) -> String? {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = FileDescriptor(owning: number)
        return String(decoding: file.read(1_024, at: 0), as: UTF8.self)
    }
}
