import CLinux
package import CredentialCore
import Glibc

/// The directories and sockets of brokers on this machine.
///
/// An instance is a broker that is served: `NAME`, or `NAME.PID` for `exec --broker`. Locks and control sockets are
/// not in the directory that is mounted into sandboxes.
package struct BrokerPlaces: Sendable {
    private let runtime: String?

    /// The directory with a directory for each instance.
    private static let folder = "credmgr-brokers"

    /// Makes places.
    ///
    /// - Parameter runtime: `$XDG_RUNTIME_DIR`.
    package init(runtime: String?) { self.runtime = runtime }

    /// The base directory: `$XDG_RUNTIME_DIR`, else `/run/user/UID`, else `/dev/shm/credmgr-UID`.
    private var base: String {
        if let runtime, runtime.hasPrefix("/") { return runtime }
        let usual = "/run/user/\(getuid())"
        if unsafe access(usual, W_OK) == 0 { return usual }
        return "/dev/shm/credmgr-\(getuid())"
    }

    /// The path of an instance's socket.
    package func socket(of instance: String) -> String { "\(base)/\(Self.folder)/\(instance)/sock" }

    /// Makes an instance's directory, mode 0700.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` if it cannot be made or others can write it.
    package func makeDirectory(of instance: String) throws(CredentialError) {
        do throws(CredentialError) {
            if base.hasPrefix("/dev/shm/") {
                _ = try PrivateDirectory.create(
                    ["credmgr-\(getuid())", Self.folder, instance], below: "/dev/shm")
            } else {
                _ = try PrivateDirectory.create([Self.folder, instance], below: base)
            }
            try Self.check(directoryOf: socket(of: instance))
        } catch {
            throw CredentialError(.storeUnavailable, error.text, hint: error.advice, details: error.details)
        }
    }

    /// Checks that no other user can write the directory of a socket.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    package static func check(directoryOf path: String) throws(CredentialError) {
        let directory = UnixSocket.directory(of: path)
        var status = stat()
        guard unsafe stat(directory, &status) == 0 else {
            throw CredentialError(
                .storeUnavailable, "the directory \(CredentialError.shownPath(directory)) does not exist")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
            throw CredentialError(
                .storeUnavailable,
                "others can write the socket's directory \(CredentialError.shownPath(directory))",
                hint: "chmod go-w '\(CredentialError.shownPath(directory))'")
        }
    }

    /// Makes the listening socket of a broker whose lock this process has.
    ///
    /// - Parameter group: the group that may connect, too.
    /// - Throws: ``ErrorCode/storeUnavailable`` if others can write the directory; ``ErrorCode/temporary`` if
    ///   another server listens there; ``ErrorCode/usage`` for an unknown group; ``ErrorCode/inputOutput``.
    package func listen(at path: String, group: String?) throws(CredentialError) -> FileDescriptor {
        try Self.check(directoryOf: path)
        var status = stat()
        if unsafe lstat(path, &status) == 0 {
            let shown = CredentialError.shownPath(path)
            guard status.st_mode & S_IFMT == Self.socketKind else {
                throw CredentialError(.inputOutput, "\(shown) exists and is not a socket")
            }
            if UnixSocket.isServed(path) {
                throw CredentialError(.temporary, "another server listens at \(shown)")
            }
            _ = unsafe unlink(path)
        }
        guard let group else { return try UnixSocket.listen(at: path, mode: 0o600) }
        guard let entry = unsafe getgrnam(group) else {
            throw CredentialError(.usage, "no group '\(UntrustedText.shown(group, limit: 60))'")
        }
        let number = unsafe entry.pointee.gr_gid
        let listener = try UnixSocket.listen(at: path, mode: 0o600)
        guard unsafe chown(path, gid_t.max, number) == 0, unsafe chmod(path, 0o660) == 0 else {
            throw .system("cannot set the group of", path, number: errno)
        }
        return listener
    }

    private static let socketKind: mode_t = 0o140000

    /// Removes a socket that this process has made.
    package func removeSocket(_ path: String) { _ = unsafe unlink(path) }

    /// Removes an instance's socket, and its directory if no sandbox can have mounted it for longer.
    package func remove(_ instance: String, withDirectory: Bool) {
        let path = socket(of: instance)
        _ = unsafe unlink(path)
        if withDirectory { _ = unsafe rmdir(UnixSocket.directory(of: path)) }
    }

    // MARK: Locks

    private func locks() throws(CredentialError) -> PrivateDirectory {
        base.hasPrefix("/dev/shm/")
            ? try PrivateDirectory.create(["credmgr-\(getuid())", "brokers"], below: "/dev/shm")
            : try PrivateDirectory.create(["credmgr", "brokers"], below: base)
    }

    /// Takes the lock of an instance.
    ///
    /// - Throws: ``ErrorCode/temporary`` with the process if another server has it.
    package func lock(_ instance: String) throws(CredentialError) -> FileLock {
        let folder = try locks()
        if let lock = try FileLock.take(instance + ".lock", in: folder, seconds: 0) { return lock }
        let process = (try FileLock.holder(instance + ".lock", in: folder))?.processID
        throw CredentialError(
            .temporary, "broker \(instance) is served already, by process \(process.map { String($0) } ?? "?")",
            hint: "credmgr broker stop \(instance)")
    }

    /// Makes the control socket of an instance, whose lock this process has.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func control(_ instance: String) throws(CredentialError) -> FileDescriptor {
        let path = try controlPath(instance)
        _ = unsafe unlink(path)
        return try UnixSocket.listen(at: path, mode: 0o600)
    }

    /// Removes the control socket of an instance, whose lock this process has.
    package func removeControl(_ instance: String) {
        guard let path = try? controlPath(instance) else { return }
        _ = unsafe unlink(path)
    }

    private func controlPath(_ instance: String) throws(CredentialError) -> String {
        try locks().path + "/" + instance + ".stop"
    }

    /// The instances that are served, with their processes.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func running() throws(CredentialError) -> [(instance: String, process: Int32)] {
        let folder = try locks()
        var found: [(instance: String, process: Int32)] = []
        for name in try folder.names() where name.hasSuffix(".lock") {
            guard let holder = try FileLock.holder(name, in: folder) else { continue }
            found.append((String(name.dropLast(5)), holder.processID))
        }
        return found
    }

    /// How long to wait for the control socket of a server that starts, in milliseconds.
    private static let pause: Int32 = 10

    /// Ends an instance, and waits until it releases no token any more.
    ///
    /// - Parameter milliseconds: how long to wait.
    /// - Returns: whether it was served.
    /// - Throws: ``ErrorCode/temporary`` if it does not end in time.
    package func stop(_ instance: String, milliseconds: Int) throws(CredentialError) -> Bool {
        let deadline = Deadline(milliseconds: Int32(clamping: milliseconds)), folder = try locks()
        var found: UnixConnection?
        while found == nil {
            do throws(CredentialError) { found = try UnixSocket.connect(to: try controlPath(instance)) } catch {
                guard error.code == .temporary else { throw error }
                // A server that has just taken the lock makes its control socket next.
                guard try FileLock.holder(instance + ".lock", in: folder) != nil else { return false }
                if deadline.hasPassed { throw error }
                // If the lock becomes free, the server has ended.
                let pause = Int64(min(Self.pause, deadline.remainingMilliseconds))
                guard let file = try folder.openExisting(instance + ".lock") else { return false }
                if FileLock.wait(file, milliseconds: pause, operation: LOCK_SH) == 0 { return false }
            }
        }
        guard let connection = found else { return false }
        // The server sends no bytes: it closes the connection when it has ended.
        while !(try connection.read(atMost: 16, deadlineMilliseconds: milliseconds)).isEmpty {}
        return true
    }
}
