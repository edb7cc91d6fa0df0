import CredentialCore
import Testing

@Suite struct AddressAuthorTests {
    @Test(arguments: [
        ("https://op.example/", AddressAuthor.Reach.internet), ("https://8.8.8.8/", .internet),
        ("http://127.1/", .machine), ("https://0/", .machine), ("https://2130706433/", .machine),
        ("https://0x7f000001/", .machine), ("https://0177.0.0.1/", .machine), ("https://[::1]/", .machine),
        ("http://a.localhost/", .machine), ("https://10.0.0.1/", .network), ("https://169.254.169.254/", .network),
        ("https://[fe80::1]/", .network), ("https://[fd00::1]/", .network), ("https://172.32.0.1/", .internet),
    ]) func `the reach of a host is read from every numeric form`(text: String, reach: AddressAuthor.Reach) throws {
        #expect(try #require(URI(text)).reach == reach)
    }

    @Test(
        arguments: [
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], AddressAuthor.Reach.machine),
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], .machine),
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1], .machine),
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 192, 168, 0, 1], .network),
            ([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], .network),
            ([0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], .network),
            ([0x20, 0x01, 0x48, 0x60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x88], .internet),
        ] as [([UInt8], AddressAuthor.Reach)])
    func `the reach of an IPv6 address is that of the IPv4 address within`(
        bytes: [UInt8], reach: AddressAuthor.Reach
    ) {
        #expect(AddressAuthor.Reach(ipv6: bytes) == reach)
    }

    @Test func `an author names addresses within its own reach, and the user names every address`() {
        for reach in [AddressAuthor.Reach.internet, .network, .machine] {
            #expect(AddressAuthor.user.mayName(reach, from: .internet))
            #expect(AddressAuthor.issuer(host: "h").mayName(reach, from: .machine))
            #expect(AddressAuthor.issuer(host: "h").mayName(reach, from: .internet) == (reach != .machine))
            #expect(AddressAuthor.api(host: "h").mayName(reach, from: .internet) == (reach == .internet))
            #expect(AddressAuthor.api(host: "h").mayName(reach, from: .network))
        }
    }

    @Test func `an address keeps its author, and equality ignores the author`() throws {
        let plain = try #require(URI("https://op.example/a?b=c"))
        let named = plain.named(by: .api(host: "api.example"))
        #expect(plain == named && Set([plain, named]).count == 1)
        #expect(named.replacing(path: "/x").author == .api(host: "api.example"))
        #expect(named.appending(query: "y=z").author == .api(host: "api.example"))
    }
}
