/// Why a text is not acceptable JSON, and where.
///
/// It never quotes the text: what was being read may be a secret.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, in lower case and without a full stop.
    public let reason: String
    /// The line of the fault, counted from 1.
    public let line: Int
    /// The byte of the fault, counted from 0.
    public let offset: Int

    /// The reason and the place: "unexpected character at line 3".
    public var description: String { "\(reason) at line \(line)" }
}
