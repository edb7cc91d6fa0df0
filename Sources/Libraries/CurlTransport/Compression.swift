import CLibCurl
import CredentialCore
import Platform

/// The form of a body that a server has compressed without a request for it. The raw value is zlib's number for it.
enum Compression: Int32 {
    /// RFC 1952.
    case gzip = 31
    /// RFC 1950: the `deflate` of HTTP (RFC 9110 §8.4.1.2).
    case zlib = 15
    /// RFC 1951: the `deflate` of some servers. It has no mark of its own.
    case deflate = -15

    /// Reads the form from the first bytes.
    ///
    /// - Parameter coding: `Content-Encoding`, if there is one.
    init?(of bytes: [UInt8], coding: String?) {
        if bytes.starts(with: [0x1F, 0x8B, 0x08]) {
            self = .gzip
        } else if coding?.lowercased().hasSuffix("deflate") == true, bytes.count > 2 {
            let isMarked = bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
            self = isMarked ? .zlib : .deflate
        } else {
            return nil
        }
    }

    /// The bytes before they were compressed.
    ///
    /// - Parameter limit: the most that is given, in bytes.
    /// - Returns: as much as could be decompressed, and whether that is all.
    /// - Throws: ``ErrorCode/internalFault`` if zlib is not installed.
    func decompressed(
        _ bytes: [UInt8], limit: Int
    ) throws(CredentialError) -> (bytes: [UInt8], isWhole: Bool) {
        let library = try DynamicLibrary("libz.so.1", package: "zlib1g")
        let begin = unsafe try library.symbol("inflateInit2_")
        let inflate = unsafe try library.symbol("inflate")
        let end = unsafe try library.symbol("inflateEnd")
        var isWhole: Int32 = 0
        let result = unsafe [UInt8](unsafeUninitializedCapacity: limit) { room, count in
            unsafe bytes.withUnsafeBufferPointer { input in
                count = Int(
                    clamping: unsafe credmgr_inflate(
                        begin, inflate, end, rawValue, input.baseAddress, UInt32(clamping: input.count),
                        room.baseAddress, UInt32(clamping: limit), &isWhole))
            }
        }
        return (result, isWhole != 0)
    }
}
