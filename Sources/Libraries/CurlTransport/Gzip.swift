import CLibCurl
import CredentialCore
import Platform

/// Decompresses bodies that servers compress with gzip (RFC 1952) without a request for it.
enum Gzip {
    /// Whether bytes begin as gzip does.
    static func begins(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B, 0x08]) }

    /// The bytes before they were compressed.
    ///
    /// - Parameter limit: the most that is given, in bytes.
    /// - Returns: as much as could be decompressed, and whether that is all.
    /// - Throws: ``ErrorCode/internalFault`` if zlib is not installed.
    static func decompressed(
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
                    clamping: unsafe credmgr_gunzip(
                        begin, inflate, end, input.baseAddress, UInt32(clamping: input.count), room.baseAddress,
                        UInt32(clamping: limit), &isWhole))
            }
        }
        return (result, isWhole != 0)
    }
}
