/// Makes inputs of inputs, the same ones for the same seed.
struct Mutator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// The input with one to four changes.
    mutating func mutated(_ input: [UInt8], with others: [[UInt8]]) -> [UInt8] {
        var bytes = input
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let place = Int.random(in: 0...bytes.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 1 where place < bytes.count: bytes[place] = Self.telling.randomElement(using: &self) ?? 0
            case 2: bytes.insert(Self.telling.randomElement(using: &self) ?? 0, at: place)
            case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &self)))
            case 4: bytes.removeSubrange(place...)
            default:
                let other = others.randomElement(using: &self) ?? []
                let begin = Int.random(in: 0...other.count, using: &self)
                bytes.insert(contentsOf: other[begin...].prefix(32), at: place)
            }
        }
        return bytes
    }

    /// Bytes that mean something to some reader.
    private static let telling: [UInt8] =
        [0, 0x0A, 0x1B, 0x7F, 0x80, 0xC3, 0xFF] + Array("\"\\{}[],:.=&%+-#/<>09eE".utf8)
}
