/// A string that must not be shown: it prints, dumps and reflects as `[redacted]`.
///
/// Only ``reveal()`` gives the text. This type cannot keep copies of a Swift string from staying in memory
/// (`docs/explanation/threat-model.md`).
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    private let text: String

    /// Wraps a secret.
    public init(_ text: String) { self.text = text }

    /// The text itself, for the one place that sends, stores or prints it.
    public func reveal() -> String { text }

    /// Whether there is no text at all.
    public var isEmpty: Bool { text.isEmpty }

    /// Always `[redacted]`.
    public var description: String { "[redacted]" }
    /// Always `[redacted]`.
    public var debugDescription: String { "[redacted]" }
    /// Compares in a time that depends on the lengths only.
    public static func == (left: Secret, right: Secret) -> Bool {
        ConstantTime.equal(Array(left.text.utf8), Array(right.text.utf8))
    }
}

// Embedded Swift has no reflection.
#if !hasFeature(Embedded)
extension Secret: CustomReflectable {
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
#endif
