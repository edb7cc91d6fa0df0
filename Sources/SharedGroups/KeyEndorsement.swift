import CredentialCore
import StrictJSON

/// That a holder of an epoch's data key vouches for the content of the cluster: that takes any record, and no other
/// process can make this (decision 20).
struct KeyEndorsement: Sendable, Hashable {
    /// The epoch.
    let epoch: Int64
    /// The bytes that ``KeyWrap`` derives from its key.
    let proof: [UInt8]

    var json: JSONValue { ["epoch": .integer(epoch), "proof": .string(Base64URL.encode(proof))] }

    init(epoch: Int64, proof: [UInt8]) {
        self.epoch = epoch
        self.proof = proof
    }

    /// Reads the output of ``json``; `nil` for any other value.
    init?(_ value: JSONValue?) {
        guard let object = value?.object, let epoch = object["epoch"]?.integer,
            let proof = object["proof"]?.string.flatMap(Base64URL.decode)
        else { return nil }
        self.init(epoch: epoch, proof: proof)
    }
}
