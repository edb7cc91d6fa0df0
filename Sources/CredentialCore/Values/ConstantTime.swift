/// Comparison of values that an attacker may be guessing.
public enum ConstantTime {
    /// Whether both hold the same bytes; the time taken depends on the lengths only.
    public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }

    /// Whether both are the same UTF-8 bytes; unlike `==` of strings, no Unicode equivalence.
    public static func equal(_ left: String, _ right: String) -> Bool {
        equal(Array(left.utf8), Array(right.utf8))
    }
}
