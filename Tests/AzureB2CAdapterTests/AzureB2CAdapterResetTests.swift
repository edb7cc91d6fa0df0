import CredentialCore
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// A forgotten password: AADB2C90118, the policy that resets it, and back.
@Suite struct AzureB2CAdapterResetTests {
    private static let base = "https://exampleb2c.b2clogin.com/exampleb2c.onmicrosoft.com/b2c_1_reset"

    private static func fixture() throws -> B2CFixture {
        var fixture = try B2CFixture()
        fixture.type.passwordResetPolicy = "reset"
        return fixture
    }

    private func refusal(
        _ number: String, state: String?, more: String = ""
    ) -> InteractionReply {
        let text = "AADB2C\(number): Something.\r\nCorrelation ID: 5a1d0f6e-9d2b-4f61-8c8f-0d6f3b7e2a10\r\n" + more
        return .redirect(
            "http://localhost:4711/?error=access_denied&error_description=\(FormURLEncoding.encode(text))"
                + "&state=\(state ?? "")")
    }

    /// Begins, and forgets the password.
    @discardableResult
    private func forget(
        _ fixture: B2CFixture, more: String = ""
    ) throws -> (address: URI, fields: [String: String], pending: JSONObject) {
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect(
            "GET", Self.base + "/v2.0/.well-known/openid-configuration",
            B2CFixture.metadata.with(["jwks_uri": .string(Self.base + "/discovery/v2.0/keys")]))
        return try fixture.adapter.resume(
            fixture.request(), pending: pending, with: refusal("90118", state: fields["state"], more: more),
            in: fixture.world.context
        ).opened()
    }

    @Test func `a forgotten password leads through the reset policy and back`() throws {
        let fixture = try Self.fixture()
        let (address, fields, pending) = try forget(fixture, more: "login_hint: ada@example.com\r\n")
        #expect(address.description.hasPrefix(Self.base + "/oauth2/v2.0/authorize?"))
        #expect(fields["scope"] == "openid")
        #expect(fields["login_hint"] == "ada@example.com")
        let (again, next, last) = try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields), in: fixture.world.context
        ).opened()
        #expect(again.description.hasPrefix(B2CFixture.base + "/oauth2/v2.0/authorize?"))
        #expect(next["state"] != fields["state"])
        fixture.provider.expect("GET", B2CFixture.keys, fixture.world.signer.keySet)
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: next["nonce"]))
        fixture.provider.expect("POST", B2CFixture.token, fixture.reply(idToken: idToken))
        let result = try fixture.adapter.resume(
            fixture.request(), pending: last, with: fixture.answer(next), in: fixture.world.context
        ).result()
        #expect(result.tokens.accessToken?.key.policy == "b2c_1_sign_in")
        // The code of the reset was never exchanged.
        #expect(fixture.provider.received.filter { $0.request.method == "POST" }.count == 1)
        #expect(fixture.provider.missing == 0)
    }

    @Test func `forgetting the new password too ends the sign-in`() throws {
        let fixture = try Self.fixture()
        let (_, fields, pending) = try forget(fixture)
        let (_, next, last) = try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields), in: fixture.world.context
        ).opened()
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: last, with: refusal("90118", state: next["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .denied)
    }

    @Test func `cancelling the reset cancels the sign-in`() throws {
        let fixture = try Self.fixture()
        let (_, fields, pending) = try forget(fixture)
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: refusal("90091", state: fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .cancelled)
    }

    @Test func `an answer with another state resets nothing`() throws {
        let fixture = try Self.fixture()
        let (_, _, pending) = try fixture.begin()
        let early = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: refusal("90118", state: "other"),
                in: fixture.world.context)
        }
        #expect(early?.code == .validationFailed)
        let other = try Self.fixture()
        let (_, fields, reset) = try forget(other)
        let late = #expect(throws: CredentialError.self) {
            try other.adapter.resume(
                other.request(), pending: reset, with: other.answer(["state": (fields["state"] ?? "") + "x"]),
                in: other.world.context)
        }
        #expect(late?.code == .validationFailed)
    }

    @Test func `the reset policy does not lead to itself`() throws {
        var fixture = try Self.fixture()
        fixture.type.passwordResetPolicy = "sign-in"
        let (_, fields, pending) = try fixture.begin()
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: refusal("90118", state: fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .denied)
    }
}
