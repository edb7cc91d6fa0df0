package import CredentialCore

/// The folder with all that this program keeps, seen from outside for `doctor`.
package protocol DataDirectoryInspector: Sendable {
    /// Returns the faults of the files in it.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be looked through.
    func faults() throws(CredentialError) -> [FolderProblem]

    /// Closes a file to others, or removes a leftover.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/unsupported`` for a fault that takes a person.
    func repair(_ fault: FolderProblem) throws(CredentialError)
}

/// Something wrong with a file.
package struct FolderProblem: Sendable, Equatable {
    /// The file.
    package let path: String
    /// The kind of fault.
    package let kind: Kind

    /// The kinds of faults.
    package enum Kind: Sendable, Equatable {
        /// Others may read or write it.
        case openToOthers
        /// It is a symbolic link or no plain file, or belongs to another user.
        case foreign
        /// All of it is another user's, as under `sudo`: this user can change or move no part of it.
        case anothers
        /// Others can put something else in its place: the folder above, which is named, is not the user's alone.
        case replaceable(above: String)
        /// A temporary file of a process that was killed more than an hour ago.
        case stale
        /// Damaged and quarantined.
        case setAside
        /// Its file system takes no more writes: it is full, or read-only.
        case unwritable(LocalizedMessage)
        /// Its file system is nearly full: so many bytes or files are left.
        case nearlyFull(LocalizedMessage)
        /// No file can be changed in it: `chattr +i`, or `+a`.
        case immutable
    }

    /// Names a fault.
    package init(path: String, kind: Kind) {
        self.path = path
        self.kind = kind
    }
}
