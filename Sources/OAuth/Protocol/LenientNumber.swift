import StrictJSON

/// Numbers of token replies: providers write them as JSON numbers or as strings, and some write nonsense.
enum LenientNumber {
    /// The number nearest to `value` within `range`; `nil` when it is no number at all.
    static func read(_ value: JSONValue?, in range: ClosedRange<Int64>) -> Int64? {
        switch value {
        case .integer(let number)?: return clamp(number, range)
        case .decimal(let text)?: return Double(text).flatMap { clamp($0, range) }
        case .string(let text)?:
            guard text.utf8.count <= 32, text.utf8.allSatisfy({ "+-.eE0123456789".utf8.contains($0) }) else {
                return nil
            }
            if let number = Int64(text) { return clamp(number, range) }
            return Double(text).flatMap { clamp($0, range) }
        default: return nil
        }
    }

    private static func clamp(_ number: Int64, _ range: ClosedRange<Int64>) -> Int64 {
        min(max(number, range.lowerBound), range.upperBound)
    }

    private static func clamp(_ number: Double, _ range: ClosedRange<Int64>) -> Int64? {
        if !number.isFinite { return nil }
        if number >= Double(range.upperBound) { return range.upperBound }
        if number <= Double(range.lowerBound) { return range.lowerBound }
        return Int64(exactly: number.rounded(.down))
    }
}
