import CommandLine
import CredentialCore
import OAuth

/// The target of a sign-in: a type in a group, and the account whose user has to sign in again, if one is named.
struct SignInTarget {
    let type: AccountType
    let group: KeychainGroup
    let account: Account?
    /// Whether the type was defined just now, from the metadata of its API.
    let isNewType: Bool
    /// Saves the type's definition, if that is to be done after the sign-in.
    var save: (() throws(CredentialError) -> Void)?

    /// A sign-in under a type that was just made.
    ///
    /// - Parameter save: saves the definition before the account is saved; `nil` if it is saved.
    init(newType type: AccountType, group: KeychainGroup, save: (() throws(CredentialError) -> Void)?) {
        self.type = type
        self.group = group
        self.save = save
        account = nil
        isNewType = true
    }

    /// Finds the target of the arguments of `login`; on a terminal it asks the user if several types can be meant.
    ///
    /// - Throws: ``ErrorCode/usage`` if no type is named and several can be meant; ``ErrorCode/unknownType``,
    ///   ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``, ``ErrorCode/configuration``.
    init(_ arguments: Arguments, _ session: CommandSession) throws(CredentialError) {
        let resolver = TargetResolver(session)
        if let name = arguments[LoginCommand.account] {
            guard !arguments[LoginCommand.new], !arguments[LoginCommand.duplicate],
                arguments[LoginCommand.resource] == nil, arguments[LoginCommand.issuer] == nil
            else {
                throw CredentialError(
                    .usage,
                    "--account requires an existing account and excludes a URL, --new, --duplicate and --resource")
            }
            let named = try resolver.namedType(TargetOptions(type: arguments[SharedOption.type]))
            let found = try AccountFinder(session).account(name, type: named)
            type = try resolver.type(named: named ?? found.account.type)
            group = found.group
            try found.account.check(seenBy: type, try resolver.registration(of: type), in: group)
            account = found.account
            isNewType = false
            return
        }
        account = nil
        if let issuer = try IssuerSignIn(arguments, session) {
            (type, isNewType) = try issuer.type()
            group = resolver.group(of: type)
            return
        }
        if let resource = arguments[LoginCommand.resource] {
            (type, isNewType) = try ResourceTypeDiscovery(session.definitions).type(
                for: resource, named: arguments[SharedOption.type], clientID: arguments[LoginCommand.clientID])
            group = resolver.group(of: type)
            return
        }
        isNewType = false
        if let name = try resolver.typeName(TargetOptions(type: arguments[SharedOption.type])) {
            type = try resolver.type(named: name)
        } else {
            type = try resolver.type(named: try Self.onlyType(session))
        }
        group = resolver.group(of: type)
    }

    /// Returns the target that the arguments of `login` mean, if it is defined; `nil` for an API that has no type
    /// yet.
    ///
    /// - Throws: as ``init(_:_:)``.
    static func defined(_ arguments: Arguments, _ session: CommandSession) throws(CredentialError) -> SignInTarget?
    {
        if let issuer = try IssuerSignIn(arguments, session), try issuer.defined().isEmpty { return nil }
        if let resource = arguments[LoginCommand.resource],
            try ResourceTypeDiscovery(session.definitions).defined(
                for: resource, named: arguments[SharedOption.type])
                == nil
        {
            return nil
        }
        return try SignInTarget(arguments, session)
    }

    /// The type that is meant if no type is named.
    private static func onlyType(_ session: CommandSession) throws(CredentialError) -> String {
        let entries = try session.catalog.entries().filter { entry in
            // One that cannot be read reports its own fault.
            guard let group = session.options.group, case .success(let type) = entry.type else { return true }
            return type.keychainGroup == group
        }
        let names = entries.map(\.name)
        if names.count == 1 { return names[0] }
        guard names.count > 1, session.mayAsk else {
            throw CredentialError(
                .usage,
                names.isEmpty
                    ? "--type is required"
                    : "--type is required: use one of \(names.count) types: "
                        + "\(names.prefix(20).joined(separator: ", "))",
                hint: session.loginHint(among: names))
        }
        return names[try session.pick("Which account type?", among: names.map { Picker.Item(name: $0) })]
    }
}
