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
        guard let startTime = ProcessState.startTime(of: process), let boot = BootID.current,
            let namespace = PIDNamespace.own
        else { return nil }
        self.init(processID: process, startTime: startTime, boot: boot, namespace: namespace)
    }

    private init(processID: Int32, startTime: String, boot: String, namespace: String) {
        (self.processID, self.startTime, self.boot, self.namespace) = (processID, startTime, boot, namespace)
    }

    /// Reads the form that ``bytes`` wrote, at the beginning of `bytes`; `nil` for anything else.
    package init?(_ bytes: [UInt8]) {
        let line = String(decoding: bytes.prefix { $0 != 0x0A && $0 != 0 }, as: UTF8.self)
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 5, words[0] == "process", let number = Int32(words[1]), number > 0 else { return nil }
        self.init(processID: number, startTime: words[2], boot: words[3], namespace: words[4])
    }

    /// Reads the mark at the beginning of a file; `nil` if there is no mark.
    package init?(ofFile path: String) {
        let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { return nil }
        self.init(FileDescriptor(owning: number).read(256, at: 0))
    }

    /// The mark as one line of text.
    package var bytes: [UInt8] { Array("process \(processID) \(startTime) \(boot) \(namespace)\n".utf8) }

    /// Whether the process lives, and is not this one. Of a process in another PID namespace that is not known
    /// here: it counts as dead, as does one of an earlier boot.
    package var isAnotherLivingProcess: Bool {
        processID != getpid() && boot == BootID.current && namespace == PIDNamespace.own
            && startTime == ProcessState.startTime(of: processID)
    }
}
