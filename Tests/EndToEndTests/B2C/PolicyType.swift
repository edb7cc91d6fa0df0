import CredentialCore
import DemoProvider
import StrictJSON
import Testing

extension DemoTenant {
    /// A type with every policy of the tenant, as its developers would write it.
    static let policyType = "Tasks"

    /// Defines ``policyType``, with members added, replaced, or removed if the value is `null`.
    func definePolicies(at home: Home, _ changes: JSONValue = [:]) throws {
        let whole: JSONValue = [
            "adapter": "azure-b2c", "client_id": .string(Self.clientID),
            "authority": .string("\(base)/\(Self.tenant)/"),
            "policies": [
                "sign-in": "b2c_1_sign_in", "sign-up": "B2C_1_sign_up", "facebook": "b2c_1_fb_sign_in",
                "edit": "b2c_1_edit_profile", "reset": "b2c_1_reset", "ropc": "b2c_1_ropc",
            ],
            "default_policy": "sign-in", "password_reset_policy": "reset",
            "redirect_uri": "urn:ietf:wg:oauth:2.0:oob", "api_base": .string(base),
        ]
        var definition = whole.object ?? JSONObject()
        for (name, value) in changes.object?.members ?? [] { definition[name] = value == .null ? nil : value }
        try home.write(JSONValue.object(definition).text(), to: "config/credmgr/types/\(Self.policyType).json")
    }

    /// Signs a user in for a policy of ``policyType`` by the two halves; gives the account's id.
    @discardableResult func signIn(
        at home: Home, policy: String, _ user: DemoUser = alice, name: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let url = try home.run(
            ["login", "--type", Self.policyType, "--policy", policy, "--print-url"], sourceLocation: sourceLocation
        ).line
        let redirect = try redirect(from: url, user: user, act: .submit(name: name))
        let done = try home.run(
            ["login", "--complete", "-"], input: redirect + "\n", sourceLocation: sourceLocation)
        return String(done.line.prefix { $0 != "\t" })
    }
}
