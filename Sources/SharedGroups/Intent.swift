import CredentialCore
import StrictJSON

/// Recorded before a refresh token is sent: by which host, and which token. As long as it is there, no other
/// process sends that token.
struct Intent: Hashable {
    /// The value that distinguishes the intent from every other.
    let nonce: IntentNonce
    /// The name of the host.
    let host: String
    /// That host's key: another may come under its name.
    let publicKey: [UInt8]
    /// The digest of the refresh token that is about to be sent.
    let token: TokenDigest
    /// When it was recorded, by the host's own clock.
    let time: Timestamp

    /// As it is sealed.
    var encoded: [UInt8] {
        var object = JSONObject()
        object["version"] = 1
        object["nonce"] = .string(Base64URL.encode(nonce.bytes))
        object["host"] = .string(host)
        object["key"] = .string(Base64URL.encode(publicKey))
        object["token"] = .string(Base64URL.encode(token.bytes))
        object["time"] = .integer(time.epochSeconds)
        return JSONValue.object(object).bytes()
    }

    init(nonce: IntentNonce, host: String, publicKey: [UInt8], token: TokenDigest, time: Timestamp) {
        self.nonce = nonce
        self.host = host
        self.publicKey = publicKey
        self.token = token
        self.time = time
    }

    /// Reads the sealed content.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(decoding bytes: [UInt8]) throws(CredentialError) {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object, object["version"] == 1,
            let nonce = object["nonce"]?.string.flatMap(Base64URL.decode).flatMap(IntentNonce.init(bytes:)),
            let host = object["host"]?.string,
            let publicKey = object["key"]?.string.flatMap(Base64URL.decode),
            let token = object["token"]?.string.flatMap(Base64URL.decode),
            let time = object["time"]?.integer
        else {
            throw CredentialError(
                .storeDamaged, "the record of a refresh in the cluster is not valid", hint: "credmgr doctor")
        }
        self.init(
            nonce: nonce, host: host, publicKey: publicKey, token: TokenDigest(bytes: token),
            time: Timestamp(epochSeconds: time))
    }
}

/// The identifier of a refresh token in places that must not contain the token itself: its SHA-256.
package struct TokenDigest: Sendable, Hashable {
    /// The digest.
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// That of the refresh token that a grant sends.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    init(of grant: Grant, _ cryptography: any Cryptography) throws(CredentialError) {
        bytes = try cryptography.sha256(Array((grant.toSend.refreshToken?.reveal() ?? "").utf8))
    }
}
