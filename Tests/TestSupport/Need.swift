import Foundation
import Testing

/// What a test needs of the machine that not everybody who runs the tests has: the one place that decides what is left
/// out there, and that nothing is left out in silence where a change is judged.
public struct Need: Sendable {
    /// What it is, for whoever sees a test left out.
    public let what: String
    private let isThere: Bool

    /// Names a need, and whether it is met here.
    public init(_ what: String, isThere: Bool) {
        self.what = what
        self.isThere = isThere
    }

    /// Root, who alone can act as another user and give files away.
    public static let root = Need("root, who can become somebody else", isThere: geteuid() == 0)

    /// Whether it is met.
    ///
    /// - Throws: ``Missing`` where it is not, and `CI` is set: there a test that is left out is a test that fails.
    public func isMet(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> Bool {
        if isThere { return true }
        if let value = environment["CI"], !["", "0", "false"].contains(value.lowercased()) {
            throw Missing(description: "CI is set, and this needs \(what)")
        }
        return false
    }

    /// A need that is not met where it has to be.
    public struct Missing: Error, CustomStringConvertible {
        /// What is missing.
        public let description: String
    }
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out where it lacks what it needs; where `CI` is set it fails there.
    public static func needs(_ need: Need, sourceLocation: SourceLocation = #_sourceLocation) -> Self {
        .enabled(Comment(rawValue: need.what), sourceLocation: sourceLocation) { try need.isMet() }
    }
}
