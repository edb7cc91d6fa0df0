/// The namespace of accounts and tokens that tools share.
///
/// It is a namespace, not a wall: every process of the user can read the Secret Service.
public struct KeychainGroup: Sendable, Hashable, CustomStringConvertible {
    /// The group's name; obeys ``Identifier``.
    public let name: String

    /// The group of types that name no group.
    public static let standard = KeychainGroup(uncheckedName: "default")

    /// Makes a group.
    ///
    /// - Throws: ``ErrorCode/usage`` for a name that breaks the rule of ``Identifier``.
    public init(_ name: String) throws(CredentialError) {
        self.name = try Identifier.checked(name, kind: .keychainGroup)
    }

    private init(uncheckedName name: String) { self.name = name }

    /// The name.
    public var description: String { name }
}
