import CLinux
import CredentialCore
import Glibc

/// The random generator of the kernel.
package struct SystemRandom: RandomSource {
    /// Makes a source.
    package init() {}

    /// `count` unpredictable bytes. If the kernel cannot give them, the process ends: there is no safe way to
    /// continue.
    package func bytes(_ count: Int) -> [UInt8] {
        unsafe Array(unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let got = unsafe linux_random(
                    buffer.baseAddress.map { unsafe $0 + initialized }, count - initialized)
                if got > 0 {
                    initialized += got
                } else if errno != EINTR {
                    abort()
                }
            }
        }
    }
}
