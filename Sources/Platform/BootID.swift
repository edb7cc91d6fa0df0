/// The kernel's random name of the present boot (`/proc/sys/kernel/random/boot_id`).
enum BootID {
    /// The name; `nil` if the kernel does not show it.
    static var current: String? {
        guard let bytes = try? UserInputFile.read("/proc/sys/kernel/random/boot_id", limit: 64)?.content else {
            return nil
        }
        let name = String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }
}
