package import CredentialCore
internal import PropertyLists

/// Reads the `settings.plist` of the iOS sample apps for Azure AD B2C as the definition of an account type.
///
/// The keys distinguish the forms: form A has `authURL` (NXOAuth2Client), form B has `authority` (ADAL preview),
/// and the older form C has `authority` with `signInPolicyId`. The page `docs/how-to/import.md` lists every key.
package enum SettingsPlist {
    /// Imports settings.
    ///
    /// - Parameters:
    ///   - bytes: an XML, binary or JSON property list.
    ///   - name: the type's name; `nil` for the one that form A holds.
    ///   - fix: corrects values that are plainly slips, which are otherwise only reported.
    ///   - exact: keeps the scopes of the app, without adding `offline_access`.
    ///   - place: the file, for messages.
    /// - Returns: the definition, and the outcome for each key.
    /// - Throws: ``ErrorCode/configuration`` for a file that is no such settings, has placeholders left in it, or
    ///   values that cannot be used; ``ErrorCode/usage`` for a name that is missing or bad.
    package static func `import`(
        _ bytes: [UInt8], name: String? = nil, fix: Bool = false, exact: Bool = false, place: String
    ) throws(CredentialError) -> (type: AccountType, report: [ImportLine]) {
        try read(bytes, name, Options(fix: fix, exact: exact, refusesUnknownKeys: false), place)
    }

    private static func read(
        _ bytes: [UInt8], _ name: String?, _ options: Options, _ place: String
    ) throws(CredentialError) -> (type: AccountType, report: [ImportLine]) {
        guard let settings = try PropertyList.parse(bytes, place: place).dictionary else {
            throw CredentialError(.configuration, "\(place) must contain a dictionary of settings")
        }
        switch (settings["authURL"] != nil, settings["authority"] != nil) {
        case (true, false):
            var form = NXOAuth2Settings(settings, options)
            return try form.read(name: name, place: place)
        case (false, true):
            var form = ADALSettings(settings, options)
            return try form.read(name: name, place: place)
        case (true, true):
            throw CredentialError(
                .configuration, "\(place) has both 'authURL' and 'authority': only one is allowed",
                hint: "remove 'authURL' or 'authority'")
        case (false, false):
            throw CredentialError(
                .configuration, "\(place) has neither 'authURL' nor 'authority': the format is not supported",
                hint: "read the supported formats in docs/how-to/import.md")
        }
    }

    /// Reads settings that are in a directory of account types, as ``AccountTypeCatalog`` requires it: named by
    /// their file, without corrections.
    ///
    /// - Throws: as ``import(_:name:fix:exact:place:)``; ``ErrorCode/configuration`` too for an unknown key, since
    ///   no report shows it here, and for a client secret in a file that others may read.
    package static func definition(
        _ bytes: [UInt8], name: String, isPrivate: Bool, place: String
    ) throws(CredentialError) -> AccountType {
        let options = Options(fix: false, exact: false, refusesUnknownKeys: true)
        let type = try read(bytes, name, options, place).type
        if !isPrivate, type.clientSecret != nil {
            throw CredentialError(
                .configuration, "other users can read the secret in key clientSecret of \(place)",
                hint: "chmod 600 \(ShellQuoting.word(place))")
        }
        return type
    }

    /// How to import.
    struct Options {
        let fix: Bool
        let exact: Bool
        /// Whether a key that no form knows is an error.
        let refusesUnknownKeys: Bool
    }
}
