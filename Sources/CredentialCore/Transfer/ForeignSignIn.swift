/// A sign-in that another program keeps, as far as its file tells.
package struct ForeignSignIn: Sendable, Equatable {
    /// The program, for messages.
    package var program: String
    /// What there is to take over.
    package var token: ForeignToken
    /// The client it was issued to, where the file tells.
    package var clientID: String?
    /// The provider's issuer, where the file tells.
    package var issuer: String?
    /// The host that the sign-in is for, where that is all the file tells.
    package var host: String?
    /// The user's name, where the file tells.
    package var username: String?

    /// Makes a sign-in.
    package init(
        program: String, token: ForeignToken, clientID: String? = nil, issuer: String? = nil, host: String? = nil,
        username: String? = nil
    ) {
        self.program = program
        self.token = token
        self.clientID = clientID
        self.issuer = issuer
        self.host = host
        self.username = username
    }
}

/// What another program obtained and this one takes over.
public enum ForeignToken: Sendable, Equatable {
    /// A refresh token; using it may end its use by the other program.
    case refresh(Secret)
    /// An access token that is good by itself, without an end that is known.
    case access(Secret)
}
