import CredentialCore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import EtcdCluster
@testable import SharedGroups

/// A node that ends every connection, as one does that takes no certificate which has ended.
private struct ClosingNode: GRPCClient {
    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] {
        throw .broken(CredentialError(.temporary, "getpeername() failed"))
    }
    func stream(
        _ method: String, _ message: [UInt8], metadata: [String], isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(GRPCError) {
        throw .broken(CredentialError(.temporary, "getpeername() failed"))
    }
}

struct ClientCertificateInfoTests {
    private let certificate: ClientCertificateInfo

    init() throws {
        let file = try EtcdNodes.shared().certificate(of: "host").certificate
        let pem = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
        certificate = try #require(ClientCertificateInfo(file: "host.pem", pem: pem))
        let told = try ChildProcess(
            "/usr/bin/openssl", ["x509", "-in", file, "-noout", "-dates", "-dateopt", "iso_8601"], environment: [:]
        ).run().standardOutput
        #expect(told.contains("notBefore=" + certificate.from.rfc3339.replacingOccurrences(of: "T", with: " ")))
        #expect(told.contains("notAfter=" + certificate.to.rfc3339.replacingOccurrences(of: "T", with: " ")))
        #expect(certificate.commonName == "host")
        for broken in [Array(pem.prefix(200)), Array(pem.dropFirst(60)), Array("nothing".utf8), []] {
            #expect(ClientCertificateInfo(file: "host.pem", pem: broken) == nil)
        }
    }

    private func failure(_ seconds: Int64, after moment: Timestamp) -> CredentialError? {
        let certificate = certificate, now = Timestamp(epochSeconds: moment.epochSeconds + seconds)
        let cluster = EtcdCluster([("node", ClosingNode())], certificate: { certificate }, now: { now })
        let followed = #expect(throws: CredentialError.self) {
            try cluster.follow("/credmgr/", after: 1, isWanted: { true }, take: { _ in true })
        }
        let asked = #expect(throws: CredentialError.self) { try cluster.list("/credmgr/") }
        #expect(followed?.code == asked?.code)
        return asked
    }

    @Test func `a connection that fails with a certificate that has ended, or does not count yet, says so`() {
        let ended = failure(1, after: certificate.to), early = failure(-1, after: certificate.from)
        #expect(ended?.message == "the certificate host.pem of this host expired on \(certificate.to.rfc3339)")
        #expect(
            early?.message
                == "the certificate host.pem of this host is not valid before \(certificate.from.rfc3339)")
        for error in [ended, early] {
            #expect(error?.code == .denied && error?.hint != nil)
            // The copies of this host serve meanwhile.
            #expect(error?.allowsLocalCopy == true)
        }
        #expect(failure(-1, after: certificate.to)?.code == .temporary)
    }

    @Test func `that it ends is told a fortnight before`() {
        func warning(_ days: Int64) -> CredentialError? {
            certificate.warning(at: Timestamp(epochSeconds: certificate.to.epochSeconds - days * 86_400))
        }
        #expect(warning(15) == nil && warning(13)?.message.contains("host.pem") == true)
    }
}
