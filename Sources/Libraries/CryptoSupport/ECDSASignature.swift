/// The two forms of an ECDSA signature: R and S side by side (RFC 7518 §3.4), and DER (RFC 3279 §2.2.3).
enum ECDSASignature {
    /// The DER form; `nil` when `raw` is not two numbers of `length` bytes, or one of them is zero.
    static func der(fromRaw raw: [UInt8], length: Int) -> [UInt8]? {
        guard raw.count == 2 * length else { return nil }
        let r = raw.prefix(length).drop { $0 == 0 }
        let s = raw.suffix(length).drop { $0 == 0 }
        guard !r.isEmpty, !s.isEmpty else { return nil }
        let body = integer(r) + integer(s)
        return [0x30] + self.length(body.count) + body
    }

    /// Two numbers of `length` bytes; `nil` when `der` is not a signature that fits.
    static func raw(fromDER der: [UInt8], length: Int) -> [UInt8]? {
        var rest = der[...]
        guard var body = element(0x30, of: &rest), rest.isEmpty,
            let r = element(0x02, of: &body)?.drop(while: { $0 == 0 }),
            let s = element(0x02, of: &body)?.drop(while: { $0 == 0 }),
            body.isEmpty, r.count <= length, s.count <= length
        else { return nil }
        let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
        return zeros(length - r.count) + r + zeros(length - s.count) + s
    }

    private static func integer(_ magnitude: ArraySlice<UInt8>) -> [UInt8] {
        let sign: [UInt8] = magnitude.first.map { $0 >= 0x80 } == true ? [0] : []
        return [0x02] + length(sign.count + magnitude.count) + sign + magnitude
    }

    /// A length below 256: two numbers of P-521 take 138 bytes.
    private static func length(_ count: Int) -> [UInt8] {
        let byte = UInt8(truncatingIfNeeded: count)
        return count < 0x80 ? [byte] : [0x81, byte]
    }

    /// Takes the content of the element that `rest` begins with.
    private static func element(_ tag: UInt8, of rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.popFirst() == tag, var count = rest.popFirst().map(Int.init) else { return nil }
        if count == 0x81 {
            guard let long = rest.popFirst() else { return nil }
            count = Int(long)
        } else if count >= 0x80 {
            return nil
        }
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
