import AzureB2CAdapter
package import CredentialCore

extension LocalMachine {
    /// Reads the settings of the seeds' iOS apps, which are all for Azure AD B2C, as a definition: the type, and a line for
    /// each key that says what became of it.
    ///
    /// - Parameters:
    ///   - bytes: what is in the file.
    ///   - name: the type's name in place of the file's own.
    ///   - fix: mends what is known to be wrong in such files.
    ///   - exact: adds nothing that the file does not say.
    ///   - place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``.
    package static func importSettings(
        _ bytes: [UInt8], name: String?, fix: Bool, exact: Bool, place: String
    ) throws(CredentialError) -> (type: AccountType, report: [LocalizedMessage]) {
        let (type, report) = try SettingsPlist.import(bytes, name: name, fix: fix, exact: exact, place: place)
        return (type, report.map(\.told))
    }
}
