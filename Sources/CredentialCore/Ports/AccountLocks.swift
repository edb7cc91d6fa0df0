/// A lock that is held; releasing it, or the end of the process, gives it back.
public protocol HeldLock: AnyObject, Sendable {
    /// The descriptor that holds the lock, so that a child process can inherit it.
    var descriptor: Int32 { get }
    /// Gives the lock back; a second call does nothing.
    func release()
}

/// One lock per account, valid between all processes that use the same stores.
public protocol AccountLocks: Sendable {
    /// The lock if nobody holds it now.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` when locks do not work there. Then nothing may be refreshed.
    func tryLock(_ account: String, in group: KeychainGroup) throws(CredentialError) -> (any HeldLock)?

    /// The lock, waiting for it at most `seconds`.
    ///
    /// - Throws: ``ErrorCode/lockTimeout``; ``ErrorCode/storeUnavailable`` as above.
    func lock(_ account: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock

    /// A lock that several may have at once; as long as one of them has it, nobody gets it by the other calls.
    ///
    /// - Throws: as ``lock(_:in:seconds:)``.
    func share(_ name: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock

    /// Whether a lock that is held is still the one that others would wait for. It is not once somebody has removed its file.
    func isCurrent(_ lock: any HeldLock, of account: String, in group: KeychainGroup) -> Bool

    /// Returns the process that holds the lock now; `nil` if none does, or it is not known. Nothing is made or
    /// changed.
    func holder(of account: String, in group: KeychainGroup) -> LockHolder?
}

extension AccountLocks {
    /// Of locks that nobody can remove.
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
