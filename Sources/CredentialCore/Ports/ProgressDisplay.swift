/// Tells the person at the terminal what a call waits for, once that has taken a second.
public protocol ProgressDisplay: Sendable {
    /// Something is waited for from now on, until the notice is ended.
    ///
    /// Only one thing is told at a time: the notice of a second one shows nothing.
    ///
    /// - Parameter what: what is waited for, as the end of "waiting for"; no secret. It is asked for whenever it
    ///   is shown, on another thread.
    func begin(_ what: @escaping @Sendable () -> LocalizedMessage) -> any ProgressItem

    /// Tells nothing from now on: the terminal belongs to another program.
    func retire()
}

/// Something that is waited for.
public protocol ProgressItem: AnyObject, Sendable {
    /// It has come, or is waited for no more; a second call does nothing.
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

    /// Has nothing to retire from.
    public func retire() {}
}

/// Shows nothing.
public final class NoWaitingNotice: ProgressItem {
    /// The only one: there is nothing to it.
    public static let standard = NoWaitingNotice()

    private init() {}

    /// Does nothing.
    public func end() {}
}
