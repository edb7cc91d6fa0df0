import Synchronization

/// The configuration of a running broker, for parts that exist before its service.
public final class CurrentConfiguration: Sendable {
    private let state: Mutex<BrokerConfiguration>

    /// Starts with the configuration of the start.
    public init(_ configuration: BrokerConfiguration) { state = Mutex(configuration) }

    /// The configuration that applies now.
    public var now: BrokerConfiguration { state.withLock { $0 } }

    /// Takes the configuration after a narrowing.
    public func put(_ configuration: BrokerConfiguration) { state.withLock { $0 = configuration } }
}
