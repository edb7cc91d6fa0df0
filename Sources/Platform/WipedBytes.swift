import Glibc

extension [UInt8] {
    /// Overwrites the bytes with zeros in a way that no optimiser removes.
    ///
    /// Only this array is overwritten: copies made before keep theirs.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { buffer in
            if let address = buffer.baseAddress { unsafe explicit_bzero(address, buffer.count) }
        }
    }
}
