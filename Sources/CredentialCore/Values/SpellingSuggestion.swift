/// "Did you mean …": the known word nearest to an unknown one.
public enum SpellingSuggestion {
    /// The word of `known` with the smallest edit distance to `word`, if it is near enough to be a slip: at most a
    /// third of the letters.
    public static func to(_ word: String, among known: [String]) -> String? {
        let scored = known.map { (word: $0, distance: distance(word.lowercased(), $0.lowercased())) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        let longest = max(word.count, best.word.count)
        return best.distance < longest && best.distance <= max(1, longest / 3) ? best.word : nil
    }

    /// Levenshtein's distance with a swap of neighbours counted once.
    private static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.prefix(64)), right = Array(right.prefix(64))
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                var cost = min(
                    previous[column + 1] + 1, current[column] + 1, previous[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    cost = min(cost, beforePrevious[column - 1] + 1)
                }
                current.append(cost)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
