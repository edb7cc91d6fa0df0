package import CredentialCore

/// The attributes that git tells its credential helpers: lines of `key=value`, ended by an empty line or the end
/// (git's `Documentation/git-credential.adoc`, INPUT/OUTPUT FORMAT).
package struct GitCredentialMessage: Sendable, Equatable {
    private var values: [String: String] = [:]
    private var lists: [String: [String]] = [:]

    /// The most that git writes in one line, in bytes.
    private static let lineLimit = 65_535

    /// Reads a message. Keys that are not known are kept; of a key given twice the last counts, and an empty value
    /// of a list (`key[]=`) empties it.
    ///
    /// - Throws: ``ErrorCode/usage`` for a line that is too long, has no `=`, is not UTF-8 or holds a NUL or CR.
    package init(_ bytes: [UInt8]) throws(CredentialError) {
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard line.count < Self.lineLimit, !line.contains(0), !line.contains(UInt8(ascii: "\r")),
                let equals = line.firstIndex(of: UInt8(ascii: "=")), equals > line.startIndex,
                let key = String(validating: line[..<equals], as: UTF8.self),
                let value = String(validating: line[(equals + 1)...], as: UTF8.self)
            else { throw CredentialError(.usage, "standard input is not a valid credential request of git") }
            if key.utf8.suffix(2).elementsEqual("[]".utf8) {
                if value.isEmpty { lists[key] = [] } else { lists[key, default: []].append(value) }
            } else {
                values[key] = value
            }
        }
    }

    /// The value of a key.
    package subscript(_ key: String) -> String? { values[key] }

    /// The values of a key that ends in `[]`, in order.
    package func list(_ key: String) -> [String] { lists[key] ?? [] }

    /// The destination of the credential; `nil` for protocols that have no host or accept no tokens, and for hosts
    /// that are not valid.
    package var destination: Destination? {
        guard let scheme = self["protocol"], let host = self["host"] else { return nil }
        return Destination(scheme: scheme, authority: host, path: self["path"])
    }
}
