import Glibc

/// The arguments of this process.
package enum ProcessArguments {
    /// The words behind the program's name. Text that is not UTF-8 is repaired.
    ///
    /// `CommandLine.arguments` looks for them on the stack, whose bounds it learns from the list of all mappings;
    /// the kernel gives them for the tenth of that time.
    package static func words() -> [String] {
        let number = unsafe open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)
        if number < 0 { return Array(CommandLine.arguments.dropFirst()) }
        let file = FileDescriptor(owning: number)
        // Each argument ends with a zero, an empty one is a zero alone; 2 MiB is the kernel's usual limit.
        guard let bytes = file.readAll(limit: 8 << 20, expected: 1_024), bytes.last == 0 else {
            return Array(CommandLine.arguments.dropFirst())
        }
        return bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).dropFirst()
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
