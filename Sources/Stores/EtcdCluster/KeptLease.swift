import Platform
import SharedGroups

/// A lease that a thread keeps alive until it is released.
final class KeptLease: HeldLease {
    private let end = Handover<Void, Never>()

    func release() { end.put(.success(())) }

    /// Waits for so long; gives `false` as soon as it is released.
    func isWanted(after seconds: Int32) -> Bool { end.take(until: Deadline(milliseconds: seconds * 1_000)) == nil }
}
