import Glibc

extension PrivateDirectory {
    /// What tells this folder, on a machine that runs, from every copy of it: the number of its file, which a copy on this machine
    /// has not, and the machine's run, which a machine with a copy of the disk has not, nor this one after it was started anew.
    package var place: String {
        var status = stat()
        let isKnown = unsafe fstat(descriptor.number, &status) == 0
        // A snapshot of a file system on the same machine has the same numbers on another device.
        return "\(isKnown ? status.st_dev : 0) \(isKnown ? status.st_ino : 0) \(BootID.current ?? "")"
    }
}
