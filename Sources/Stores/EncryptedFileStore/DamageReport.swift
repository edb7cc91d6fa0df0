import Synchronization

/// Tells the user of damage, each thing once: a command reads a store several times.
final class DamageReport: Sendable {
    private let report: @Sendable (String) -> Void
    private let said = Mutex<Set<String>>([])

    /// Passes sentences on to `report`.
    init(_ report: @escaping @Sendable (String) -> Void) { self.report = report }

    /// Says a sentence unless it was said before.
    func say(_ sentence: String) {
        if said.withLock({ $0.insert(sentence).inserted }) { report(sentence) }
    }
}
