import Glibc

extension PrivateDirectory {
    /// A text that distinguishes this folder, on a running machine, from every copy of it. The inode number differs
    /// in a copy on this machine. The boot ID differs on a machine with a copy of the disk, and after a restart of
    /// this machine.
    package var place: String {
        var status = stat()
        let isKnown = unsafe fstat(descriptor.number, &status) == 0
        // A snapshot of a file system on the same machine has the same numbers on another device.
        return "\(isKnown ? status.st_dev : 0) \(isKnown ? status.st_ino : 0) \(BootID.current ?? "")"
    }
}
