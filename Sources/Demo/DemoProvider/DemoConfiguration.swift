package import CredentialCore

/// The configuration of the demo provider: its tenant, policies, clients and users. Settings that may change while
/// it runs are in ``DemoSwitches``.
package struct DemoConfiguration: Sendable {
    /// The tenant's name in URLs.
    package var tenant = "exampleb2c.onmicrosoft.com"
    /// The tenant's GUID; also used for the name in URLs.
    package var tenantID = "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"
    /// The user flows.
    package var policies = DemoPolicy.standard
    /// The registered applications.
    package var clients = DemoClient.standard
    /// The to-do API as a resource.
    package var api = DemoResource()
    /// The users who may sign in at the start; signing up adds more.
    package var users = DemoUser.standard
    /// The ports to try; 0 is any free one.
    package var ports: [UInt16] = [0]
    /// Whether `/demo/control` lets another process read the counters and change the switches.
    package var offersControl = false
    /// The switches at the start.
    package var switches = DemoSwitches()

    /// A configuration with two users, six policies and three clients.
    package init() {}
}

/// A user flow (a "policy") of the demo tenant.
package struct DemoPolicy: Sendable, Equatable {
    /// The function of a policy.
    package enum Kind: Sendable {
        /// Makes a new user.
        case signUp
        /// Signs a user in.
        case signIn
        /// Signs a user in "with Facebook", as the `idp` claim shows.
        case facebook
        /// Changes the display name.
        case editProfile
        /// Sets a new password; never gives a refresh token.
        case resetPassword
        /// The password grant; has no page.
        case password
    }

    /// The name in its original case, as claims spell it. URLs may spell it in any case.
    package var name: String
    /// The function of the policy.
    package var kind: Kind

    /// Makes a policy.
    package init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }

    /// The policies of the demo tenant.
    package static let standard = [
        DemoPolicy(name: "B2C_1_sign_up", kind: .signUp), DemoPolicy(name: "B2C_1_sign_in", kind: .signIn),
        DemoPolicy(name: "B2C_1_fb_sign_in", kind: .facebook),
        DemoPolicy(name: "B2C_1_edit_profile", kind: .editProfile),
        DemoPolicy(name: "B2C_1_reset", kind: .resetPassword), DemoPolicy(name: "B2C_1_ropc", kind: .password),
    ]
}

/// An application registered with the demo tenant.
package struct DemoClient: Sendable {
    /// The application id.
    package var id: String
    /// Its secret; `nil` for a public client.
    package var secret: Secret?
    /// Registered redirect URIs. The port of a loopback one is ignored (RFC 8252 §7.3).
    package var redirectURIs: [String]

    /// Makes a client.
    package init(id: String, secret: Secret? = nil, redirectURIs: [String] = DemoClient.nativeRedirects) {
        self.id = id
        self.secret = secret
        self.redirectURIs = redirectURIs
    }

    /// The redirect URIs that a native application registers.
    package static let nativeRedirects = [
        "http://localhost", "http://localhost/auth/openid/return", "http://127.0.0.1",
        "urn:ietf:wg:oauth:2.0:oob", "https://exampleb2c.b2clogin.com/oauth2/nativeclient",
        "msal580e250c-8f26-49d0-bee8-1c078add1609://auth",
    ]

    /// Two public clients and a confidential one.
    package static let standard = [
        DemoClient(id: "580e250c-8f26-49d0-bee8-1c078add1609"),
        DemoClient(id: "8d5f1c1e-3a4b-4a57-9f0d-2b6c7e8f9a10"),
        DemoClient(id: "c0ffee00-5b1d-4e55-8e7e-0d1e2f3a4b5c", secret: Secret("demo client secret")),
    ]
}

/// An API whose scopes a client may ask for.
package struct DemoResource: Sendable {
    /// The App ID URI, the first part of its scopes.
    package var identifier = "https://exampleb2c.onmicrosoft.com/tasks"
    /// Its application id, the `aud` of its tokens.
    package var clientID = "1f0a9d4e-6c2b-4d3f-8b7a-5e9c0d1a2b3c"
    /// The last parts of its scopes.
    package var scopes = ["read", "write"]

    /// The to-do API.
    package init() {}
}

/// A user who may sign in.
package struct DemoUser: Sendable {
    /// The sign-in name.
    package var email: String
    /// The password. The demo's own, no secret of anybody.
    package var password: Secret
    /// The object id.
    package var objectID: String
    /// The display name.
    package var name: String

    /// Makes a user.
    package init(email: String, password: Secret, objectID: String, name: String) {
        self.email = email
        self.password = password
        self.objectID = objectID
        self.name = name
    }

    /// Alice and Bob.
    package static let standard = [
        DemoUser(
            email: "alice@example.com", password: Secret("alice's password"),
            objectID: "3f0c9a52-7a1e-4c55-8e02-b6d2f1a40c11", name: "Alice Example"),
        DemoUser(
            email: "bob@example.com", password: Secret("bob's password"),
            objectID: "a1b7c3d9-0e2f-4a68-9c5d-7b8e9f0a1b2c", name: "Bob Example"),
    ]
}
