/// The Secret Service as `store status` and `doctor` show it.
package struct SecretServiceDescription: Sendable {
    /// The process that provides it; 0 when the bus does not say.
    package let process: UInt64
    /// The default collection's label, made safe to show.
    package let collection: String
    /// Whether the default collection is locked.
    package let isLocked: Bool
}
