package import StrictJSON

/// An ``AccountArchive`` under a passphrase: a JSON document, so that it can be sent as text.
///
/// The key is made of the passphrase by scrypt, whose parameters stand in the document; the archive is sealed by an AEAD
/// (AES-256-GCM) together with everything else the document says.
package enum SealedArchive {
    private static let format = "credmgr-export"
    private static let version: Int64 = 1
    /// scrypt's N = 2^17, r = 8, p = 1: 128 MiB and some tenths of a second (OWASP, Password Storage).
    private static let cost: (n: UInt64, r: UInt64, p: UInt64) = (1 << 17, 8, 1)
    /// The most that a foreign document may ask for, so that it cannot take all memory: 1 GiB.
    private static let greatestCost: UInt64 = 1 << 20

    /// Whether a document says that it is one of these.
    package static func isOne(_ document: JSONObject) -> Bool { document["format"]?.string == format }

    /// Seals an archive.
    ///
    /// - Throws: as the cryptography.
    package static func seal(
        _ archive: AccountArchive, passphrase: Secret, random: any RandomSource, _ cryptography: any Cryptography
    ) throws(CredentialError) -> JSONObject {
        var header = JSONObject()
        header["format"] = .string(format)
        header["version"] = .integer(version)
        header["scrypt_n"] = .integer(Int64(cost.n))
        header["scrypt_r"] = .integer(Int64(cost.r))
        header["scrypt_p"] = .integer(Int64(cost.p))
        header["salt"] = .string(Base64URL.encode(random.bytes(32)))
        header["nonce"] = .string(Base64URL.encode(random.bytes(12)))
        let parts = try parts(of: header)
        var document = header
        document["sealed"] = .string(
            Base64URL.encode(
                try cryptography.seal(
                    JSONValue.object(archive.json).bytes(), key: try key(parts, passphrase, cryptography),
                    nonce: parts.nonce, authenticating: JSONValue.object(header).bytes())))
        return document
    }

    /// Opens a document.
    ///
    /// - Throws: ``ErrorCode/configuration`` when it is of another version or damaged; ``ErrorCode/denied`` when the
    ///   passphrase is not the one it was sealed with, or somebody has changed it.
    package static func open(
        _ document: JSONObject, passphrase: Secret, _ cryptography: any Cryptography
    ) throws(CredentialError) -> AccountArchive {
        guard document["version"]?.integer == version else {
            throw CredentialError(
                .configuration, "the exported file is of a version that this credmgr does not know",
                hint: "import it with the credmgr that has exported it, or a later one")
        }
        guard let sealed = document["sealed"]?.string.flatMap(Base64URL.decode) else {
            throw AccountArchive.damaged()
        }
        var header = document
        header["sealed"] = nil
        let parts = try parts(of: header)
        let plain = try cryptography.open(
            sealed, key: try key(parts, passphrase, cryptography), nonce: parts.nonce,
            authenticating: JSONValue.object(header).bytes())
        guard let plain else {
            throw CredentialError(
                .denied, "the passphrase does not open the exported file, or the file was changed")
        }
        guard let object = (try? JSONValue.parse(plain, limits: .ownFile))?.object else {
            throw AccountArchive.damaged()
        }
        return try AccountArchive(json: object)
    }

    private struct Parts {
        let n: UInt64
        let r: UInt64
        let p: UInt64
        let salt: [UInt8]
        let nonce: [UInt8]
    }

    private static func parts(of header: JSONObject) throws(CredentialError) -> Parts {
        func number(_ name: String) -> UInt64? { header[name]?.integer.flatMap(UInt64.init(exactly:)) }
        guard let n = number("scrypt_n"), let r = number("scrypt_r"), let p = number("scrypt_p"),
            n >= 1 << 14, n <= greatestCost, n & (n - 1) == 0, r == cost.r, p == cost.p,
            let salt = header["salt"]?.string.flatMap(Base64URL.decode), salt.count == 32,
            let nonce = header["nonce"]?.string.flatMap(Base64URL.decode), nonce.count == 12
        else { throw AccountArchive.damaged() }
        return Parts(n: n, r: r, p: p, salt: salt, nonce: nonce)
    }

    private static func key(
        _ parts: Parts, _ passphrase: Secret, _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        try cryptography.scrypt(
            Array(passphrase.reveal().utf8), salt: parts.salt, cost: parts.n, blockSize: parts.r,
            parallelism: parts.p, length: 32)
    }
}
