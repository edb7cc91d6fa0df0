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
}
