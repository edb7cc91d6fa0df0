import Foundation

/// The processes that were given a mark: a variable that plugins get, and that their children inherit.
///
/// The kernel shows it for each process, under any number in a namespace, and after any end of its parents.
public struct MarkedProcesses: Sendable {
    /// A process with the mark.
    public struct Found: Sendable, CustomStringConvertible {
        /// Its number.
        public let id: pid_t
        /// Its arguments, with spaces between them.
        public let arguments: String

        /// The number and the arguments.
        public var description: String { "\(id): \(arguments)" }

        /// The process that started it, or that it came to.
        public var parent: pid_t? {
            (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8))?.split(separator: ")").last?.split(
                separator: " "
            ).dropFirst().first.flatMap { pid_t($0) }
        }
    }

    /// The variable.
    public static let variable = "LC_MARK"
    private let entry: Data

    /// Names the mark.
    public init(_ mark: String) { entry = Data("\(Self.variable)=\(mark)\0".utf8) }

    /// Those that live now. A process that has ended without a wait for it does not count.
    public var all: [Found] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.compactMap { id in
            guard let variables = Self.read("/proc/\(id)/environ"), variables.range(of: entry) != nil else {
                return nil
            }
            let words = Self.read("/proc/\(id)/cmdline") ?? Data()
            return Found(
                id: id,
                arguments: words.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.joined(
                    separator: " "))
        }
    }

    /// Waits for one whose arguments hold `text`.
    ///
    /// - Throws: ``ProcessFailure`` without one within `seconds`.
    public func first(with text: String, within seconds: Double = 60) throws -> Found {
        let limit = ContinuousClock.now + .seconds(seconds)
        while true {
            let all = all
            if let found = all.first(where: { $0.arguments.contains(text) }) { return found }
            if ContinuousClock.now >= limit {
                throw ProcessFailure(description: "no process of '\(text)' within \(seconds) s, but \(all)")
            }
            usleep(10_000)
        }
    }

    /// Waits until no process is left for which `counts` is true.
    ///
    /// - Throws: ``ProcessFailure`` when there still is one after `seconds`.
    public func end(within seconds: Double, where counts: (Found) -> Bool = { _ in true }) throws {
        let limit = ContinuousClock.now + .seconds(seconds)
        while true {
            let left = all.filter(counts)
            if left.isEmpty { return }
            if ContinuousClock.now >= limit {
                throw ProcessFailure(description: "after \(seconds) s there still are \(left)")
            }
            usleep(10_000)
        }
    }

    private static func read(_ path: String) -> Data? { try? Data(contentsOf: URL(fileURLWithPath: path)) }
}
