/// The metadata of a file; equal states mean an unchanged file.
package struct FileStamp: Sendable, Hashable {
    /// The file system.
    package var device: Int64
    /// The file's number there.
    package var inode: Int64
    /// The size in bytes.
    package var size: Int64
    /// When the content was last changed, in nanoseconds since the epoch.
    package var modified: Int64
    /// When content or status was last changed, in nanoseconds since the epoch.
    package var changed: Int64

    /// Makes a state.
    package init(device: Int64, inode: Int64, size: Int64, modified: Int64, changed: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }
}

/// Looks at files without reading them.
package protocol FileStamps: Sendable {
    /// The state of a file, or of the target of a link; `nil` if there is no file.
    func state(of path: String) -> FileStamp?
    /// The time that a file changed now would show, in nanoseconds since the epoch.
    var time: Int64 { get }
}
