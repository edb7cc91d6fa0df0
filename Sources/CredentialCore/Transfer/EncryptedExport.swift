package import StrictJSON

/// An ``AccountExport`` under a passphrase: a JSON document, so that it can be sent as text.
/// `docs/reference/file-formats.md` has the form.
///
/// scrypt makes a secret of the passphrase, and HKDF makes two keys of that: the one of the cipher,
/// ChaCha20-Poly1305, and the key check, which is in the document. So a wrong passphrase is distinguished from a
/// damaged archive, and an archive opens with one passphrase only. The first form, which is read still, has the
/// cipher's key from scrypt itself, and no check.
package enum EncryptedExport {
    private static let format = "credmgr-export"
    private static let version: Int64 = 2
    /// scrypt's N = 2^17, r = 8, p = 1: 128 MiB and some tenths of a second (OWASP, Password Storage).
    private static let cost: (n: UInt64, r: UInt64, p: UInt64) = (1 << 17, 8, 1)
    /// The cost that a foreign document may ask for: no cheap guessing, and no more than 1 GiB of memory.
    private static let costs: ClosedRange<UInt64> = 1 << 14...1 << 20

    /// Whether a document says that it is one of these.
    package static func isOne(_ document: JSONObject) -> Bool { document["format"]?.string == format }

    /// Seals an archive.
    ///
    /// - Throws: as the cryptography.
    package static func seal(
        _ archive: AccountExport, passphrase: Secret, random: any RandomSource, _ cryptography: any Cryptography
    ) throws(CredentialError) -> JSONObject {
        var header = Header(n: cost.n, salt: random.bytes(Header.saltSize))
        let keys = try Keys(passphrase, header, cryptography)
        header.keyCheck = keys.check
        var document = header.json
        document["digest"] = .string(Base64URL.encode(try header.digest(cryptography)))
        document["sealed"] = .string(
            Base64URL.encode(
                try cryptography.seal(
                    JSONValue.object(archive.json).bytes(), key: keys.cipher, nonce: Keys.nonce,
                    authenticating: header.bytes)))
        return document
    }

    /// Opens a document.
    ///
    /// - Throws: ``ErrorCode/configuration`` when it is of a newer version or damaged; ``ErrorCode/denied`` when
    ///   the passphrase is not the one it was sealed with.
    package static func open(
        _ document: JSONObject, passphrase: Secret, _ cryptography: any Cryptography
    ) throws(CredentialError) -> AccountExport {
        guard let version = document["version"]?.integer, version > 0 else { throw AccountExport.damaged() }
        guard version <= Self.version else {
            throw CredentialError(
                .configuration, "a newer credmgr wrote the exported file (version \(version))",
                hint: "upgrade credmgr")
        }
        guard let sealed = document["sealed"]?.string.flatMap(Base64URL.decode) else { throw changed }
        let plain =
            version == 1
            ? try openFirstForm(document, sealed, passphrase, cryptography)
            : try open(document, sealed, passphrase, cryptography)
        guard let object = (try? JSONValue.parse(plain, limits: .ownFile))?.object else {
            throw AccountExport.damaged()
        }
        return try AccountExport(json: object)
    }

    private static func open(
        _ document: JSONObject, _ sealed: [UInt8], _ passphrase: Secret, _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        guard let header = Header(document), let digest = document["digest"]?.string.flatMap(Base64URL.decode),
            ConstantTime.equal(digest, try header.digest(cryptography))
        else { throw changed }
        let keys = try Keys(passphrase, header, cryptography)
        guard ConstantTime.equal(keys.check, header.keyCheck) else {
            throw CredentialError(.denied, "the passphrase does not open the exported file")
        }
        let plain = try cryptography.open(
            sealed, key: keys.cipher, nonce: Keys.nonce, authenticating: header.bytes)
        guard let plain else { throw changed }
        return plain
    }

    private static var changed: CredentialError {
        CredentialError(
            .configuration, "the exported file is damaged or was changed",
            hint: "to export the accounts again: credmgr accounts export --help")
    }

    // MARK: The header

    /// The members of a document beside the sealed text.
    private struct Header {
        let n: UInt64
        let salt: [UInt8]
        var keyCheck: [UInt8] = []

        static let saltSize = 32
        private static let members = [
            "format", "version", "cipher", "scrypt_n", "scrypt_r", "scrypt_p", "salt", "key_check", "digest",
            "sealed",
        ]
        private static let cipher = "chacha20-poly1305"

        init(n: UInt64, salt: [UInt8]) {
            self.n = n
            self.salt = salt
        }

        /// Reads it; `nil` unless each member is there, is one that this program can have written, and no other is.
        init?(_ document: JSONObject) {
            guard document.members.map(\.name).sorted() == Self.members.sorted(),
                document["cipher"]?.string == Self.cipher, let n = EncryptedExport.cost(in: document),
                let salt = document["salt"]?.string.flatMap(Base64URL.decode), salt.count == Self.saltSize,
                let check = document["key_check"]?.string.flatMap(Base64URL.decode), check.count == Keys.size
            else { return nil }
            self.init(n: n, salt: salt)
            keyCheck = check
        }

        var json: JSONObject {
            var object = JSONObject()
            object["format"] = .string(format)
            object["version"] = .integer(version)
            object["cipher"] = .string(Self.cipher)
            object["scrypt_n"] = .integer(Int64(n))
            object["scrypt_r"] = .integer(Int64(cost.r))
            object["scrypt_p"] = .integer(Int64(cost.p))
            object["salt"] = .string(Base64URL.encode(salt))
            object["key_check"] = .string(Base64URL.encode(keyCheck))
            return object
        }

        /// The associated data of the cipher: a line for each member, in this order.
        var bytes: [UInt8] {
            let lines = [
                format, String(version), Self.cipher, String(n), String(cost.r), String(cost.p),
                Base64URL.encode(salt), Base64URL.encode(keyCheck),
            ]
            return Array(lines.map { $0 + "\n" }.joined().utf8)
        }

        /// A digest that finds an accident before the passphrase is tried; it needs no key.
        func digest(_ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
            Array(try cryptography.sha256(bytes).prefix(16))
        }
    }

    /// scrypt's N of a document; `nil` if it is not an allowed one.
    private static func cost(in document: JSONObject) -> UInt64? {
        func number(_ name: String) -> UInt64? { document[name]?.integer.flatMap(UInt64.init(exactly:)) }
        guard let n = number("scrypt_n"), let r = number("scrypt_r"), let p = number("scrypt_p"),
            costs.contains(n), n & (n - 1) == 0, r == cost.r, p == cost.p
        else { return nil }
        return n
    }

    private static func stretched(
        _ passphrase: Secret, _ n: UInt64, _ salt: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        try cryptography.scrypt(
            Array(passphrase.reveal().utf8), salt: salt, cost: n, blockSize: cost.r, parallelism: cost.p,
            length: Keys.size)
    }

    /// The keys that are derived from a passphrase, each for one purpose.
    private struct Keys {
        /// Of the cipher; it seals once, as its salt is never used again, so the nonce is zero.
        let cipher: [UInt8]
        /// Tells the right passphrase from another.
        let check: [UInt8]

        static let size = 32
        static let nonce = [UInt8](repeating: 0, count: 12)

        init(_ passphrase: Secret, _ header: Header, _ cryptography: any Cryptography) throws(CredentialError) {
            let secret = try stretched(passphrase, header.n, header.salt, cryptography)
            cipher = try cryptography.deriveKey(
                from: secret, salt: header.salt, info: "credmgr export 2: archive", length: Self.size)
            check = try cryptography.deriveKey(
                from: secret, salt: header.salt, info: "credmgr export 2: key check", length: Self.size)
        }
    }

    // MARK: The first form

    /// The plain text of version 1. Its key is scrypt's output, and its context the document without `sealed`.
    private static func openFirstForm(
        _ document: JSONObject, _ sealed: [UInt8], _ passphrase: Secret, _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        guard let n = cost(in: document), let salt = document["salt"]?.string.flatMap(Base64URL.decode),
            salt.count == Header.saltSize, let nonce = document["nonce"]?.string.flatMap(Base64URL.decode),
            nonce.count == Keys.nonce.count
        else { throw changed }
        var header = document
        header["sealed"] = nil
        let plain = try cryptography.open(
            sealed, key: try stretched(passphrase, n, salt, cryptography), nonce: nonce,
            authenticating: JSONValue.object(header).bytes())
        guard let plain else {
            throw CredentialError(
                .denied, "the passphrase does not open the exported file, or the file was changed")
        }
        return plain
    }
}
