package import CommandLine
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
    package init(_ arguments: Arguments, environment: [String: String]) throws(CredentialError) {
        group = try (arguments[GlobalOption.group] ?? Self.set("CREDMGR_GROUP", environment)).map {
            (name) throws(CredentialError) in try KeychainGroup(name)
        }
        let storeName = arguments[GlobalOption.store] ?? Self.set("CREDMGR_STORE", environment)
        namesStore = storeName != nil
        store = try StoreKind.wished(storeName, else: nil)
        try AccountServices.checkCacheSwitch(environment)
        noInput = arguments[GlobalOption.noInput] || Self.set("CREDMGR_NO_INPUT", environment) != nil
        timeout = arguments[GlobalOption.timeout].map(Int.init)
        isVerbose = arguments[GlobalOption.verbose]
        isQuiet = arguments[GlobalOption.quiet]
    }

    /// A variable that is set to something.
    static func set(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
