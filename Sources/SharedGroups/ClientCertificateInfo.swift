package import CredentialCore

/// The period in which the certificate is valid that this host shows to a cluster, and the user that it names. The
/// cluster judges the authority. No message there reports that the authority has ended, as the connection just
/// breaks.
package struct ClientCertificateInfo: Sendable, Hashable {
    /// The file.
    package let file: String
    /// From when it counts, and until when.
    package let from: Timestamp
    package let to: Timestamp
    /// The user that the cluster takes its holder for; `nil` if the name cannot be read.
    package let commonName: String?

    /// How long before its end the warning begins, in seconds: 14 days.
    private static let warningSeconds: Int64 = 14 * 86_400

    package init(file: String, from: Timestamp, to: Timestamp, commonName: String? = nil) {
        self.file = file
        self.commonName = commonName
        self.from = from
        self.to = to
    }

    /// Reads the first certificate of a PEM file (RFC 7468); `nil` if the file has no certificate.
    package init?(file: String, pem: [UInt8]) {
        let lines = String(decoding: pem, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let begin = lines.firstIndex(of: "-----BEGIN CERTIFICATE-----"),
            let end = lines[begin...].firstIndex(of: "-----END CERTIFICATE-----")
        else { return nil }
        let text = lines[(begin + 1)..<end].joined().prefix { $0 != "=" }
        guard
            let bytes = Base64URL.decode(
                String(text).replacing("+", with: "-").replacing("/", with: "_"))
        else { return nil }
        // Certificate, TBSCertificate (RFC 5280, 4.1): version, serial number, algorithm, issuer, validity,
        // subject.
        var reader = DERReader(bytes[...])
        guard var certificate = reader.enter(DERReader.sequence), var body = certificate.enter(DERReader.sequence)
        else { return nil }
        if body.nextTag == DERReader.version { _ = body.next() }
        for _ in 0..<3 { _ = body.next() }
        guard var validity = body.enter(DERReader.sequence), let from = validity.time(), let to = validity.time()
        else { return nil }
        self.init(file: file, from: from, to: to, commonName: body.enter(DERReader.sequence)?.commonName)
    }

    /// The fault of the certificate now.
    package func fault(at now: Timestamp) -> CredentialError? {
        guard now < from || to < now else { return nil }
        var error = CredentialError(
            .denied,
            to < now
                ? "the certificate \(file) of this host expired on \(to.rfc3339)"
                : "the certificate \(file) of this host is not valid before \(from.rfc3339)",
            hint: to < now
                ? "replace the certificate with a new one of the same common name"
                : "to check this host's clock: credmgr doctor --online")
        error.isClusterUnusable = true
        return error
    }

    /// That it ends soon.
    package func warning(at now: Timestamp) -> CredentialError? {
        guard to.seconds(since: now) < Self.warningSeconds else { return nil }
        return CredentialError(
            .denied, "the certificate \(file) of this host expires on \(to.rfc3339)",
            hint: "replace the certificate with a new one of the same common name")
    }
}

/// Values in the Distinguished Encoding Rules (X.690), as far as a certificate's dates and its subject.
private struct DERReader {
    static let sequence: UInt8 = 0x30
    static let version: UInt8 = 0xA0
    private static let utcTime: UInt8 = 0x17
    private static let generalizedTime: UInt8 = 0x18
    private static let set: UInt8 = 0x31
    private static let identifier: UInt8 = 0x06
    /// `id-at-commonName` (RFC 5280, appendix A.1).
    private static let commonNameIdentifier: [UInt8] = [0x55, 0x04, 0x03]
    /// UTF8String, PrintableString, TeletexString and IA5String: those whose bytes are ASCII or UTF-8.
    private static let texts: [UInt8] = [0x0C, 0x13, 0x14, 0x16]

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var nextTag: UInt8? { rest.first }

    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), var length = rest.popFirst().map(Int.init) else { return nil }
        if length > 0x7F {
            let count = length & 0x7F
            guard count <= 3, rest.count >= count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard rest.count >= length else { return nil }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }

    mutating func enter(_ tag: UInt8) -> DERReader? {
        guard let value = next(), value.tag == tag else { return nil }
        return DERReader(value.content)
    }

    /// The common name of a subject: the last one if there are several, as in etcd.
    var commonName: String? {
        var rest = self, found: String?
        while var relative = rest.enter(Self.set) {
            while var attribute = relative.enter(Self.sequence) {
                guard let type = attribute.next(), type.tag == Self.identifier,
                    Array(type.content) == Self.commonNameIdentifier, let value = attribute.next(),
                    Self.texts.contains(value.tag)
                else { continue }
                found = String(validating: value.content, as: UTF8.self)
            }
        }
        return found
    }

    /// A time to the second, in UTC, as RFC 5280 demands it (4.1.2.5).
    mutating func time() -> Timestamp? {
        guard let value = next() else { return nil }
        var digits = String(decoding: value.content, as: UTF8.self)
        switch value.tag {
        case Self.utcTime: digits = (digits < "50" ? "20" : "19") + digits
        case Self.generalizedTime: break
        default: return nil
        }
        let parts = Array(digits)
        guard parts.count == 15, parts[14] == "Z" else { return nil }
        func part(_ range: Range<Int>) -> String { String(parts[range]) }
        return Timestamp(
            rfc3339:
                "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(8..<10)):\(part(10..<12)):\(part(12..<14))Z")
    }
}
