import Glibc

/// The PID namespace of this process (pid_namespaces(7)).
package enum PIDNamespace {
    /// The namespace of the machine itself: `PROC_PID_INIT_INO` of the kernel's `proc_ns.h`.
    private static let initial = "pid:[4026531836]"

    /// Whether all processes that this process leaves behind end with it, because its namespace does. The process
    /// is the first one of a container, or the first one started it and waits for no other process, as `sh -c`
    /// does.
    package static var endsWithThisProcess: Bool {
        guard getpid() == 1 || getppid() == 1 else { return false }
        // Without /proc this is unknown, and to wait is safe.
        return own != initial
    }

    /// The kernel's name of the namespace; `nil` without `/proc`.
    static var own: String? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let size = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe readlink("/proc/self/ns/pid", $0, bytes.count) } ?? -1
        }
        return size > 0 ? String(decoding: buffer.prefix(size), as: UTF8.self) : nil
    }
}
