package import CredentialCore

/// The options of every command.
package struct GlobalOptions: Sendable {
    /// `--group`.
    package var group: KeychainGroup?
    /// `--store`, else `CREDMGR_STORE`; `nil` for `auto`.
    package var store: StoreKind?
    /// Whether a store was named at all, `auto` included.
    package var namesStore: Bool
    /// `--no-input`, or `CREDMGR_NO_INPUT`.
    package var noInput: Bool
    /// `--timeout` in seconds.
    package var timeout: Int?
    /// `--verbose`.
    package var isVerbose: Bool
    /// `--quiet`.
    package var isQuiet: Bool

    /// Takes the options from arguments and environment.
    ///
    /// - Throws: ``ErrorCode/usage`` for values that make no sense.
    package init(_ arguments: ParsedArguments, environment: [String: String]) throws(CredentialError) {
        group = try (arguments.string("group") ?? Self.set("CREDMGR_GROUP", environment)).map {
            (name) throws(CredentialError) in try KeychainGroup(name)
        }
        let storeName = arguments.string("store") ?? Self.set("CREDMGR_STORE", environment)
        namesStore = storeName != nil
        store = try storeName.flatMap { (name) throws(CredentialError) in
            if name == "auto" { return nil }
            guard let kind = StoreKind(rawValue: name) else {
                throw CredentialError(
                    .usage, "'\(ForeignText.shown(name, limit: 40))' is not a store",
                    hint: "use auto, secret-service or file")
            }
            return kind
        }
        noInput = arguments.flag("no-input") || Self.set("CREDMGR_NO_INPUT", environment) != nil
        timeout = try arguments.integer("timeout", in: 1...86_400).map(Int.init)
        isVerbose = arguments.flag("verbose")
        isQuiet = arguments.flag("quiet")
    }

    /// A variable that is set to something.
    static func set(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
