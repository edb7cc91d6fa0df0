package import CredentialCore

/// An exit status and its meaning, for help and the manual page.
package struct ExitStatusText: Sendable {
    /// The status.
    package let status: Int32
    /// The meaning, in lower case and without a full stop.
    package let meaning: LocalizedMessage

    /// Describes a status.
    package init(_ status: Int32, _ meaning: LocalizedMessage) {
        self.status = status
        self.meaning = meaning
    }
}

/// An environment variable and its effect, for help and the manual page.
package struct EnvironmentText: Sendable {
    /// The variable.
    package let name: String
    /// The effect, in lower case and without a full stop.
    package let meaning: LocalizedMessage
    /// Whether the overview of the help names it; the manual page names all.
    package let isUsual: Bool

    /// Describes a variable.
    package init(_ name: String, _ meaning: LocalizedMessage, isUsual: Bool = false) {
        self.name = name
        self.meaning = meaning
        self.isUsual = isUsual
    }
}

/// A file, or a directory of files, and its purpose, for the manual page.
package struct FileText: Sendable {
    /// The path.
    package let name: String
    /// The content, in lower case and without a full stop.
    package let meaning: LocalizedMessage

    /// Describes a file.
    package init(_ name: String, _ meaning: LocalizedMessage) {
        self.name = name
        self.meaning = meaning
    }
}
