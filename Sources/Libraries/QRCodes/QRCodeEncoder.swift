import CQRencode
package import CredentialCore
import Platform

/// Makes QR codes by libqrencode, which is opened with the first one.
package struct QRCodeEncoder: Sendable {
    private typealias Encode =
        @convention(c) (UnsafePointer<CChar>?, Int32, QRecLevel) -> UnsafeMutablePointer<QRcode>?
    private typealias Release = @convention(c) (UnsafeMutablePointer<QRcode>?) -> Void

    /// Costs no time: the library is opened later.
    package init() {}

    /// The rows of the symbol of a text, `true` for a dark module; without the light border.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when the library is not installed; ``ErrorCode/unsupported`` for a
    ///   text that no symbol holds.
    package func modules(of text: String) throws(CredentialError) -> [[Bool]] {
        let library = try DynamicLibrary("libqrencode.so.4", package: "libqrencode4")
        let encode = unsafe unsafeBitCast(try library.symbol("QRcode_encodeString8bit"), to: Encode.self)
        let release = unsafe unsafeBitCast(try library.symbol("QRcode_free"), to: Release.self)
        guard let code = unsafe encode(text, 0, QR_ECLEVEL_L) else {
            throw CredentialError(.unsupported, "the text is too long for a QR code")
        }
        defer { unsafe release(code) }
        guard let data = unsafe code.pointee.data else { return [] }
        let width = unsafe Int(code.pointee.width)
        return (0..<width).map { row in
            (0..<width).map { column in unsafe data[row * width + column] & 1 == 1 }
        }
    }
}
