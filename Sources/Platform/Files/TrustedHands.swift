import CredentialCore
import Glibc

/// Who may have made or changed a file or folder that is believed: the user and root.
enum TrustedHands {
    /// Checks the owner and the mode. The group may write where it has the number of the owner: the user's private
    /// group.
    ///
    /// - Parameter hint: what to do about a wrong owner.
    /// - Throws: ``ErrorCode/inputOutput``.
    static func check(_ status: stat, _ path: String, otherwise hint: String) throws(CredentialError) {
        let shown = CredentialError.shownPath(path)
        if status.st_uid != geteuid() && status.st_uid != 0 {
            throw CredentialError(
                .inputOutput, "\(shown) belongs to another user (uid \(status.st_uid))", hint: hint)
        }
        let writers: mode_t = status.st_gid == status.st_uid ? 0o002 : 0o022
        if status.st_mode & writers != 0 {
            throw CredentialError(.inputOutput, "others can write \(shown)", hint: "chmod go-w '\(shown)'")
        }
    }
}
