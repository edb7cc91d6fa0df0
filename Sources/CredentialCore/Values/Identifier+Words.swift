extension Identifier {
    /// Whether a name, given as its bytes, obeys the rule: for folders with many.
    public static func isValid(_ name: borrowing Span<UInt8>) -> Bool {
        guard name.count > 0, isAlphanumeric(name[0]), name.count <= 128 else { return false }
        var offset = 0
        while name.count - offset >= SWARScan.Block.scalarCount {
            if !areParts(SWARScan.loadBlock(name, at: offset)) { return false }
            offset += SWARScan.Block.scalarCount
        }
        while offset < name.count {
            let word = SWARScan.load(name, at: offset, before: name.count)
            // Behind the end the word is zero, which is no part.
            let count = min(SWARScan.size, name.count - offset)
            if parts(of: word).nonzeroBitCount != count { return false }
            offset += SWARScan.size
        }
        return true
    }

    /// Whether a name, given as its bytes, has a dot.
    public static func hasDot(_ name: borrowing Span<UInt8>) -> Bool {
        let dots = SWARScan.repeating(UInt8(ascii: "."))
        var offset = 0
        while offset < name.count {
            if SWARScan.places(of: dots, in: SWARScan.load(name, at: offset, before: name.count)) != 0 {
                return true
            }
            offset += SWARScan.size
        }
        return false
    }

    /// Whether a block has only letters, digits, `.`, `_` and `-`.
    private static func areParts(_ block: SWARScan.Block) -> Bool {
        func isBetween(_ first: Unicode.Scalar, _ last: Unicode.Scalar) -> SIMDMask<SIMD16<Int8>> {
            let (first, last) = (UInt8(ascii: first), UInt8(ascii: last))
            return block &- SWARScan.Block(repeating: first) .<= SWARScan.Block(repeating: last - first)
        }
        return all(
            isBetween("a", "z") .| isBetween("0", "9") .| isBetween("A", "Z") .| isBetween("-", ".")
                .| isBetween("_", "_"))
    }

    /// Marks the letters, digits, `.`, `_` and `-` in a word.
    private static func parts(of word: UInt64) -> UInt64 {
        SWARScan.places(from: UInt8(ascii: "a"), to: UInt8(ascii: "z"), in: word)
            | SWARScan.places(from: UInt8(ascii: "0"), to: UInt8(ascii: "9"), in: word)
            | SWARScan.places(from: UInt8(ascii: "A"), to: UInt8(ascii: "Z"), in: word)
            | SWARScan.places(from: UInt8(ascii: "-"), to: UInt8(ascii: "."), in: word)
            | SWARScan.places(from: UInt8(ascii: "_"), to: UInt8(ascii: "_"), in: word)
    }
}
