/// A named parameter of a libcrypto algorithm or key; the names are those of OpenSSL's `core_names.h`.
enum CryptoParameter {
    /// A text: a digest's or a curve's name.
    case text(String, String)
    /// Bytes.
    case octets(String, [UInt8])
    /// A small number.
    case integer(String, UInt64)
    /// A large number, big-endian.
    case number(String, [UInt8])

    /// The name.
    var name: String {
        switch self {
        case .text(let name, _), .octets(let name, _), .integer(let name, _), .number(let name, _): name
        }
    }

    /// The value as the library reads it: numbers in the order of the machine.
    var bytes: [UInt8] {
        switch self {
        case .text(_, let text): return Array(text.utf8)
        case .octets(_, let bytes): return bytes
        case .integer(_, let number): return unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
        case .number(_, let bytes):
            #if _endian(little)
            return bytes.reversed()
            #else
            return bytes
            #endif
        }
    }
}
