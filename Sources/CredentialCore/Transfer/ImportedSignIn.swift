/// A sign-in that another program keeps, as far as its file tells.
package struct ImportedSignIn: Sendable, Equatable {
    /// The program, for messages.
    package var program: String
    /// The token to take over.
    package var token: ImportedToken
    /// The client it was issued to, if the file names it.
    package var clientID: String?
    /// The provider's issuer, if the file names it.
    package var issuer: String?
    /// The host that the sign-in is for, if the file names only that.
    package var host: String?
    /// Whether the type must name ``host`` even if the client's ID is known.
    package var isHostBinding = false
    /// The user's name, if the file has it.
    package var username: String?
    /// The policy that the token was issued under, if the file names it; `nil` for the type's own.
    package var policy: String?
    /// Whether the program, a service of the desktop, goes on using the token by itself.
    package var isSharedFurther: Bool { program == GNOMEOnlineAccounts.program }

    /// Makes a sign-in.
    package init(
        program: String, token: ImportedToken, clientID: String? = nil, issuer: String? = nil, host: String? = nil,
        isHostBinding: Bool = false, username: String? = nil, policy: String? = nil
    ) {
        self.program = program
        self.token = token
        self.clientID = clientID
        self.issuer = issuer
        self.host = host
        self.isHostBinding = isHostBinding
        self.username = username
        self.policy = policy
    }
}

/// The content of another program's file.
package struct ImportedFile: Sendable {
    /// The sign-ins that can be taken over.
    package var signIns: [ImportedSignIn] = []
    /// Why others cannot: the data that the file lacks for each.
    package var lacks: [CredentialError] = []
}

/// An item of another program's in the desktop's keyring.
public struct KeyringItem: Sendable {
    /// The attribute that it was asked for by.
    public let name: String
    /// The secret in the item.
    public let secret: Secret

    /// Makes an item.
    public init(name: String, secret: Secret) {
        self.name = name
        self.secret = secret
    }
}

/// The token that another program obtained and credmgr takes over.
public enum ImportedToken: Sendable, Equatable {
    /// A refresh token; using it may end its use by the other program.
    case refresh(Secret)
    /// An access token that is good by itself, without an end that is known.
    case access(Secret)
}
