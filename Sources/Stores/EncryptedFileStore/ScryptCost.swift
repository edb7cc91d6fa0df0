/// What guessing a passphrase costs: the parameters of scrypt (RFC 7914 §2).
package struct ScryptCost: Sendable, Equatable {
    /// The base-2 logarithm of N.
    package let logarithm: UInt8
    /// r: the block size.
    package let blockSize: UInt16
    /// p: the parallelism.
    package let parallelism: UInt16

    /// What new slots get: N = 2^17, r = 8, p = 1; 128 MiB and about a third of a second.
    package static let standard = ScryptCost(logarithm: 17, blockSize: 8, parallelism: 1)

    /// What stands in slots that need no scrypt.
    static let none = ScryptCost(logarithm: 0, blockSize: 0, parallelism: 0)

    /// Makes parameters; a slot takes only what ``isAcceptable``.
    package init(logarithm: UInt8, blockSize: UInt16, parallelism: UInt16) {
        self.logarithm = logarithm
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// Whether a file may ask for it: 8 MiB to 1 GiB of memory, so that a hostile file can neither exhaust the
    /// machine nor have the passphrase hashed cheaply.
    var isAcceptable: Bool {
        guard (10...23).contains(logarithm), (1...32).contains(blockSize), (1...4).contains(parallelism) else {
            return false
        }
        return (8 << 20...1 << 30).contains(128 * Int(blockSize) << Int(logarithm))
    }
}
