/// Shows the user at the terminal the reason for a wait, once it has taken a second.
public protocol ProgressDisplay: Sendable {
    /// Something is waited for from now on, until the notice is ended.
    ///
    /// It shows one wait at a time: the notice of a second one is not shown.
    ///
    /// - Parameter what: the object of the wait, as the end of "waiting for"; it must not be secret. It is asked
    ///   for whenever it is shown, on another thread.
    func begin(_ what: @escaping @Sendable () -> LocalizedMessage) -> any ProgressItem

    /// Stays silent from now on: the terminal belongs to another program.
    func retire()
}

/// Something that is waited for.
public protocol ProgressItem: AnyObject, Sendable {
    /// Ends the wait; a second call has no effect.
    func end()
}

extension ProgressDisplay {
    /// Does `work`, and tells that `what` is waited for if it takes long.
    package func during<Value>(
        _ what: @escaping @Sendable () -> LocalizedMessage, _ work: () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Value {
        let notice = begin(what)
        defer { notice.end() }
        return try work()
    }
}

/// Tells nobody.
public struct NoWaitingDisplay: ProgressDisplay {
    /// Makes one.
    public init() {}

    /// Shows nothing.
    public func begin(_ what: @escaping @Sendable () -> LocalizedMessage) -> any ProgressItem {
        NoWaitingNotice.standard
    }

    /// Has no display to retire from.
    public func retire() {}
}

/// Shows nothing.
public final class NoWaitingNotice: ProgressItem {
    /// The only instance: it has no state.
    public static let standard = NoWaitingNotice()

    private init() {}

    /// Does nothing.
    public func end() {}
}
