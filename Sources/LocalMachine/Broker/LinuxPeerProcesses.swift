package import Broker
import Platform
import Sodium

/// Processes as this machine's kernel shows them.
package struct LinuxPeerProcesses: PeerProcesses {
    private let hasHandles: Bool

    /// Makes a view.
    ///
    /// - Parameter hasHandles: whether `SO_PEERPIDFD` is used if the kernel has it.
    package init(hasHandles: Bool = true) { self.hasHandles = hasHandles }

    package func credentials(ofSocket descriptor: Int32) -> PeerCredentials? {
        SocketPeer.credentials(of: descriptor).map { PeerCredentials(uid: $0.uid, pid: $0.pid) }
    }

    package func handle(ofSocket descriptor: Int32) -> (any PeerHandle)? {
        guard hasHandles else { return nil }
        switch SocketPeer.process(of: descriptor) {
        case .known(let process): return LinuxPeerHandle(process)
        case .ended: return EndedPeerHandle()
        case .unsupported: return nil
        }
    }

    package func facts(of process: Int32) -> ProcessFacts? {
        ProcessView.facts(of: process).map { ProcessFacts(start: $0.start, parent: $0.parent, name: $0.name) }
    }

    package func executable(of process: Int32) -> ExecutableFile? {
        ProcessView.executable(of: process).map {
            ExecutableFile(path: $0.path, device: $0.device, inode: $0.inode, size: $0.size, changed: $0.changed)
        }
    }

    package func digest(of process: Int32, expecting file: ExecutableFile) -> [UInt8]? {
        var digest = SHA256.Stream()
        let isWhole = ProcessView.readExecutable(of: process, device: file.device, inode: file.inode) {
            digest.add($0)
        }
        return isWhole ? digest.end() : nil
    }

    package func controlGroups(of process: Int32) -> String? { ProcessView.controlGroups(of: process) }
}

private final class LinuxPeerHandle: PeerHandle {
    private let process: FileDescriptor

    init(_ process: consuming FileDescriptor) { self.process = process }

    var isAlive: Bool { SocketPeer.isAlive(process) }
}

private struct EndedPeerHandle: PeerHandle {
    var isAlive: Bool { false }
}
