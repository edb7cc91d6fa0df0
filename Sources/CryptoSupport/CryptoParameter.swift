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
}
