import AzureB2CAdapter
package import CredentialCore

extension LocalMachine {
    /// Reads the settings of the seeds' iOS apps, which are all for Azure AD B2C, as a definition: the type, and a
    /// line for each key that describes its result.
    ///
    /// - Parameters:
    ///   - bytes: the content of the file.
    ///   - name: the type's name in place of the file's own.
    ///   - fix: fixes the known mistakes in such files.
    ///   - exact: adds no setting that is not in the file.
    ///   - place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``.
    package static func importSettings(
        _ bytes: [UInt8], name: String?, fix: Bool, exact: Bool, place: String
    ) throws(CredentialError) -> (type: AccountType, report: [LocalizedMessage]) {
        let (type, report) = try SettingsPlist.import(bytes, name: name, fix: fix, exact: exact, place: place)
        return (type, report.map(\.told))
    }
}
