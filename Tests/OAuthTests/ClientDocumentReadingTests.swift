import CredentialCore
import Foundation
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// The document that a client publishes of itself (OAuth Client ID Metadata Document).
@Suite struct ClientDocumentReadingTests {
    private static let url = "https://tools.example/credmgr/client.json"
    private let world: AdapterWorld

    init() throws { world = AdapterWorld(try Signer()) }

    private static func document(_ changes: JSONValue = [:]) -> JSONValue {
        let document: JSONValue = [
            "client_id": .string(url), "redirect_uris": ["http://localhost:1/a", "http://127.0.0.1/a"],
        ]
        return document.with(changes)
    }

    @Test func `The document to host is one`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appendingPathComponent("docs/templates/client-metadata.json")
        let object = try #require(try JSONValue.parse(Array(try Data(contentsOf: file))).object)
        let place = try #require(object["client_id"]?.string)
        #expect(ClientIDMetadataDocument.isAddress(place))
        let document = try ClientIDMetadataDocument(object, at: place)
        #expect(document.loopbackRedirect == "http://127.0.0.1:43117/callback")
    }

    @Test func `answers at a listed redirect, with a fixed port first`() throws {
        let both = try ClientIDMetadataDocument(try #require(Self.document().object), at: Self.url)
        #expect(both.loopbackRedirect == "http://localhost:1/a")
        let none = try ClientIDMetadataDocument(
            try #require(Self.document(["redirect_uris": ["https://tools.example/back"]]).object), at: Self.url)
        #expect(none.loopbackRedirect == nil)
    }

    @Test(
        arguments: [
            ["client_id": "https://tools.example/credmgr/client.json/"], ["client_id": .null],
            ["client_secret": "s"],
            ["token_endpoint_auth_method": "client_secret_basic"], ["redirect_uris": []], ["redirect_uris": .null],
        ] as [JSONValue])
    func `a document that no provider takes is refused`(changes: JSONValue) throws {
        world.provider.expect("GET", Self.url, Self.document(changes))
        let error = #expect(throws: CredentialError.self) {
            try ClientIDMetadataDocument.fetch(Self.url, in: world.context)
        }
        #expect(error?.code == .configuration)
    }

    @Test(arguments: [404, 302, 204])
    func `a document that is not there is told`(status: Int) throws {
        world.provider.expect("GET", Self.url) { _ in HTTPResponse(status: status) }
        let error = #expect(throws: CredentialError.self) {
            try ClientIDMetadataDocument.fetch(Self.url, in: world.context)
        }
        #expect(error?.code == .configuration)
    }

    @Test func `one that cannot be reached from here is left to the provider`() throws {
        world.provider.expect("GET", Self.url) { _ throws(CredentialError) in
            throw CredentialError(.temporary, "no route")
        }
        let document = try ClientIDMetadataDocument.fetch(Self.url, in: world.context)
        #expect(document == nil)
    }
}
