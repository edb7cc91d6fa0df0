/// The adapters there are, by name. Built-in ones come first; nothing can take their place.
public struct AdapterRegistry: Sendable {
    private let adapters: [any CredentialAdapter]

    /// Makes a registry; of two adapters with one name the first wins.
    public init(_ adapters: [any CredentialAdapter]) { self.adapters = adapters }

    /// All adapters, in order.
    public var all: [any CredentialAdapter] { adapters }

    /// The adapter that a type names.
    ///
    /// - Throws: ``ErrorCode/configuration`` when there is none of that name.
    public func adapter(of type: AccountType) throws(CredentialError) -> any CredentialAdapter {
        guard let adapter = adapters.first(where: { $0.name == type.adapter }) else {
            let known = adapters.map(\.name)
            throw CredentialError(
                .configuration,
                "account type \(type.name) names the adapter '\(ForeignText.shown(type.adapter, limit: 60))', "
                    + "which is not installed",
                hint: NearestWord.to(type.adapter, among: known).map { "did you mean '\($0)'?" }
                    ?? "credmgr providers")
        }
        return adapter
    }
}
