/// A lock that is held; releasing it, or the end of the process, gives it back.
public protocol HeldLock: AnyObject, Sendable {
    /// The descriptor that holds the lock, so that a child process can inherit it.
    var descriptor: Int32 { get }
    /// Gives the lock back; a second call has no effect.
    func release()
}

/// One lock per account, valid between all processes that use the same stores.
public protocol AccountLocks: Sendable {
    /// The lock if it is free now.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` when locks do not work there. Then no account may be refreshed.
    func tryLock(_ account: String, in group: KeychainGroup) throws(CredentialError) -> (any HeldLock)?

    /// The lock, waiting for it at most `seconds`.
    ///
    /// - Throws: ``ErrorCode/lockTimeout``; ``ErrorCode/storeUnavailable`` as above.
    func lock(_ account: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock

    /// A lock that several may have at once; as long as one of them has it, the other calls give it to no process.
    ///
    /// - Throws: as ``lock(_:in:seconds:)``.
    func share(_ name: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock

    /// Whether a lock that is held is still the one that others would wait for. It is not once its file has been
    /// removed.
    func isCurrent(_ lock: any HeldLock, of account: String, in group: KeychainGroup) -> Bool

    /// Returns the process that holds the lock now; `nil` if it is free, or the holder is not known. The call makes
    /// and changes no file.
    func holder(of account: String, in group: KeychainGroup) -> LockHolder?
}

extension AccountLocks {
    /// Always true for locks that cannot be removed.
    public func isCurrent(_ lock: any HeldLock, of account: String, in group: KeychainGroup) -> Bool { true }

    /// Not known.
    public func holder(of account: String, in group: KeychainGroup) -> LockHolder? { nil }
}

/// The process that holds a lock.
public struct LockHolder: Sendable, Hashable {
    /// Its id.
    public let processID: Int32
    /// When it took the lock, in seconds since 1970.
    public let since: Int64
    /// Whether it was stopped (SIGSTOP, Ctrl-Z) and does not go on by itself.
    public let isStopped: Bool

    /// Describes a holder.
    public init(processID: Int32, since: Int64, isStopped: Bool) {
        self.processID = processID
        self.since = since
        self.isStopped = isStopped
    }
}
