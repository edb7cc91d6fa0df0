import CredentialCore
import GenericOAuth2Adapter
import Testing

/// The name of a token, which must be alike for the code that asks for it and the code that keeps it.
@Suite struct TokenDemandTests {
    private let adapter = GenericOAuth2Adapter()

    /// The ways in which a type shapes its tokens.
    enum Shape: CaseIterable {
        case plain, bound, exchanged, withResource, withParameters

        var type: AccountType {
            var type = AccountType(name: "T", adapter: "oauth2", clientID: "c")
            type.issuer = "https://id.example"
            type.scope = ["openid", "b", "a"]
            switch self {
            case .plain: break
            case .bound: type.bindsAccessTokens = true
            case .exchanged: type.exchangesTokens = true
            case .withResource: type.resource = "https://api.example"
            case .withParameters: type.tokenParameters = ["x": "1"]
            }
            return type
        }
    }

    private func account(_ type: AccountType) throws -> Account {
        Account(
            id: "0123456789abcdef", type: type.name, adapter: type.adapter,
            registration: ClientIdentity(provider: try adapter.provider(of: type), clientID: type.clientID),
            subject: "ada", store: .file, now: Timestamp(epochSeconds: 1))
    }

    @Test(arguments: Shape.allCases)
    func `the key of a sign-in's tokens is the key of later requests`(shape: Shape) throws {
        let type = shape.type
        let kept = TokenRequestKey(under: type, policy: "", scope: adapter.effectiveScope(type.scope, of: type))
        let asked = try TokenDemand().request(
            of: try account(type), under: type, in: .standard, by: adapter)
        #expect(asked.key == kept)
        #expect(asked.subject == nil)
        #expect(kept.isAsked(under: type))
    }

    @Test(arguments: Shape.allCases)
    func `a token that was had is refreshed as it was asked for`(shape: Shape) throws {
        let type = shape.type
        let demand = TokenDemand(scope: ["read"], audience: "https://other.example")
        let first = try demand.request(of: try account(type), under: type, in: .standard, by: adapter)
        let again = TokenDemand().request(
            of: try account(type), under: type, in: .standard, by: adapter, again: first.key)
        #expect(again.key == first.key)
        #expect(again.subject?.key == first.subject?.key)
        #expect((first.subject != nil) == type.exchangesTokens)
    }

    @Test func `a token of another shape is none of the type's`() {
        let bound = TokenRequestKey(under: Shape.bound.type, policy: "", scope: ["a"])
        #expect(!bound.isAsked(under: Shape.plain.type))
        #expect(bound.isAsked(under: Shape.bound.type))
    }
}
