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

    /// The path of an instance's socket: the one that its server has recorded, else the usual one.
    package func socket(of instance: String) -> String {
        let other: String?
        do throws(CredentialError) { other = try recordedSocket(of: instance) } catch { other = nil }
        return other ?? usualSocket(of: instance)
    }

    private func usualSocket(of instance: String) -> String { "\(base)/\(Self.folder)/\(instance)/sock" }

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
            try Self.check(directoryOf: usualSocket(of: instance))
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
        guard let group else {
            let listener = try UnixSocket.listen(at: path, mode: 0o600)
            record(path)
            return listener
        }
        guard let entry = unsafe getgrnam(group) else {
            throw CredentialError(.usage, "no group '\(UntrustedText.shown(group, limit: 60))'")
        }
        let number = unsafe entry.pointee.gr_gid
        let listener = try UnixSocket.listen(at: path, mode: 0o600)
        guard unsafe chown(path, gid_t.max, number) == 0, unsafe chmod(path, 0o660) == 0 else {
            throw .system("cannot set the group of", path, number: errno)
        }
        record(path)
        return listener
    }

    private static let socketKind: mode_t = 0o140000

    /// Removes a socket that this process has made.
    package func removeSocket(_ path: String) {
        _ = unsafe unlink(path)
        removeRecord()
    }

    /// Removes an instance's socket, and its directory if no sandbox can have mounted it for longer.
    package func remove(_ instance: String, withDirectory: Bool) {
        let path = usualSocket(of: instance)
        _ = unsafe unlink(path)
        if withDirectory { _ = unsafe rmdir(UnixSocket.directory(of: path)) }
    }

    // MARK: Sockets at other paths

    /// The longest path of a record; a socket's path is shorter.
    private static let recordLimit = 8_192

    /// The name of the file with the path of the socket that a process serves.
    private static func recordName(_ process: Int32) -> String { "\(process).socket" }

    /// Records that this process listens at a path, for the commands that show it. A process serves one broker.
    private func record(_ path: String) {
        guard !path.hasPrefix("\(base)/\(Self.folder)/") else { return }
        let bytes = Array(Self.absolute(path).utf8)
        // Without a record the commands show the usual path.
        do throws(CredentialError) {
            let folder = try locks()
            try folder.write(bytes, to: Self.recordName(getpid()), tidying: false, isDurable: false)
        } catch {}
    }

    private func removeRecord() {
        do throws(CredentialError) {
            let folder = try locks()
            try folder.remove(Self.recordName(getpid()))
        } catch {}
    }

    /// The path that the process which holds the lock of an instance has recorded.
    private func recordedSocket(of instance: String) throws(CredentialError) -> String? {
        let isShared = base.hasPrefix("/dev/shm/")
        guard
            let folder = try PrivateDirectory.open(
                [isShared ? "credmgr-\(getuid())" : "credmgr", "brokers"], below: isShared ? "/dev/shm" : base),
            let holder = try FileLock.holder(instance + ".lock", in: folder),
            let bytes = try folder.read(Self.recordName(holder.processID), limit: Self.recordLimit)
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        var current = [CChar](repeating: 0, count: 4_096)
        guard unsafe getcwd(&current, current.count) != nil else { return path }
        let bytes = current.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self) + "/" + path
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
        // A process with this number may have been killed.
        removeRecord()
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

    /// How long to wait before another look at the lock or the control socket of an instance, in milliseconds.
    private static let pause: Int32 = 10

    /// Ends an instance, and waits until it releases no token any more. Without a server, the usual socket goes: if
    /// systemd has it, the next connection would start one.
    ///
    /// - Parameter milliseconds: how long to wait in all.
    /// - Returns: whether it was served.
    /// - Throws: ``ErrorCode/temporary`` if it does not end in time, with the file of the lock and the process that
    ///   holds the lock.
    package func stop(_ instance: String, milliseconds: Int) throws(CredentialError) -> Bool {
        let deadline = Deadline(milliseconds: Int32(clamping: milliseconds))
        // A server may start or end between the two.
        while !(try removeUnserved(instance)) {
            if try end(instance, deadline) {
                // A server in another mount namespace cannot remove its path.
                _ = try removeUnserved(instance)
                return true
            }
            // Another program may hold the lock, or look at it at this moment.
            if deadline.hasPassed { throw try unended(instance) }
            SystemTime.pause(milliseconds: Int64(min(Self.pause, deadline.remainingMilliseconds)))
        }
        return false
    }

    /// The error for an instance that does not end.
    private func unended(_ instance: String) throws(CredentialError) -> CredentialError {
        let folder = try locks(), name = instance + ".lock", path = CredentialError.shownPath(folder.path(of: name))
        guard let holder = try FileLock.holder(name, in: folder) else {
            return CredentialError(
                .temporary, "broker \(instance) has not ended: an unknown process has locked \(path)",
                hint: "to find the process: fuser '\(path)'")
        }
        let process = String(holder.processID)
        return CredentialError(
            .temporary, "broker \(instance) has not ended: process \(process) has locked \(path)",
            hint: "try again, or end the process: kill \(process)")
    }

    /// Removes the usual socket of an instance without a server.
    ///
    /// - Returns: whether the instance has no server.
    private func removeUnserved(_ instance: String) throws(CredentialError) -> Bool {
        let folder = try locks()
        guard let lock = try FileLock.take(instance + ".lock", in: folder, seconds: 0) else { return false }
        _ = unsafe unlink(usualSocket(of: instance))
        lock.release()
        return true
    }

    /// Ends the server of an instance.
    ///
    /// - Returns: whether it had to be ended.
    private func end(_ instance: String, _ deadline: Deadline) throws(CredentialError) -> Bool {
        let folder = try locks()
        var found: UnixConnection?
        while found == nil {
            do throws(CredentialError) {
                found = try UnixSocket.connect(
                    to: try controlPath(instance), milliseconds: deadline.remainingMilliseconds)
            } catch {
                guard error.code == .temporary else { throw error }
                // A server that has just taken the lock makes its control socket next.
                guard try FileLock.holder(instance + ".lock", in: folder) != nil else { return false }
                if deadline.hasPassed { throw try unended(instance) }
                // If the lock becomes free, the server has ended.
                let pause = Int64(min(Self.pause, deadline.remainingMilliseconds))
                guard let file = try folder.openExisting(instance + ".lock") else { return false }
                if FileLock.wait(file, milliseconds: pause, operation: LOCK_SH) == 0 { return false }
            }
        }
        guard let connection = found else { return false }
        // The server sends no bytes: it closes the connection when it has ended.
        while true {
            let bytes: [UInt8]
            do throws(CredentialError) {
                bytes = try connection.read(atMost: 16, deadlineMilliseconds: Int(deadline.remainingMilliseconds))
            } catch {
                guard error.code == .temporary else { throw error }
                throw try unended(instance)
            }
            if bytes.isEmpty { return true }
            if deadline.hasPassed { throw try unended(instance) }
        }
    }
}
