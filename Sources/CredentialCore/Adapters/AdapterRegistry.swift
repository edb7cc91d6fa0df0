/// The adapters there are, by name. Built-in ones come first; no plugin can replace them.
public struct AdapterRegistry: Sendable {
    /// Finds a plugin by its name; `nil` if it is not installed.
    ///
    /// - Throws: ``ErrorCode/configuration`` for one that is there but must not be used, with the reason.
    public typealias External = @Sendable (_ name: String) throws(CredentialError) -> (any CredentialAdapter)?

    /// The built-in adapters, in order.
    public let builtIn: [any CredentialAdapter]
    private let external: External

    /// Makes a registry; of two adapters with one name the first wins.
    ///
    /// - Parameters:
    ///   - builtIn: those of the program itself.
    ///   - external: asked for names that no built-in adapter has, and only then.
    public init(_ builtIn: [any CredentialAdapter], external: @escaping External = { _ in nil }) {
        self.builtIn = builtIn
        self.external = external
    }

    /// The adapter that a type names.
    ///
    /// - Throws: ``ErrorCode/configuration`` when there is no adapter of that name, or it must not be used.
    public func adapter(of type: AccountType) throws(CredentialError) -> any CredentialAdapter {
        if let adapter = try adapter(named: type.adapter) { return adapter }
        throw CredentialError(
            .configuration,
            "account type \(type.name): the adapter '\(UntrustedText.shown(type.adapter, limit: 60))' is not "
                + "installed",
            hint: SpellingSuggestion.to(type.adapter, among: builtIn.map(\.name)).map { "did you mean '\($0)'?" }
                ?? "credmgr adapters")
    }

    /// The adapter called `name`; `nil` if there is no such adapter.
    ///
    /// - Throws: ``ErrorCode/configuration`` for an external one that must not be used.
    public func adapter(named name: String) throws(CredentialError) -> (any CredentialAdapter)? {
        if let adapter = builtIn.first(where: { $0.name == name }) { return adapter }
        return try external(name)
    }
}
