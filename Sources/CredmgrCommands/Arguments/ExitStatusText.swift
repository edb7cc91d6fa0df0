/// An exit status and what it means, for help and the manual page.
package struct ExitStatusText: Sendable {
    /// The status.
    package let status: Int32
    /// What it means, in lower case and without a full stop.
    package let meaning: String

    /// Every status that a command can end with.
    package static let all: [ExitStatusText] = [
        ExitStatusText(status: 0, meaning: "done"),
        ExitStatusText(status: 1, meaning: "another failure"),
        ExitStatusText(status: 2, meaning: "wrong usage or configuration"),
        ExitStatusText(status: 3, meaning: "no such account, or several and no default"),
        ExitStatusText(status: 4, meaning: "sign-in required; the hint is the command to run"),
        ExitStatusText(status: 5, meaning: "the secret store is locked or unavailable"),
        ExitStatusText(status: 6, meaning: "temporary trouble of network, provider or lock; try again"),
        ExitStatusText(status: 7, meaning: "denied by the user, the provider or a rule"),
        ExitStatusText(status: 8, meaning: "'request' got an HTTP status of 400 or more"),
        ExitStatusText(status: 130, meaning: "interrupted"),
    ]
}

/// An environment variable and what it does, for help and the manual page.
package struct EnvironmentText: Sendable {
    /// The variable.
    package let name: String
    /// What it does, in lower case and without a full stop.
    package let meaning: String

    /// The variables that are read. Options beat them; they beat files.
    package static let all: [EnvironmentText] = [
        EnvironmentText(name: "CREDMGR_TYPE", meaning: "the account type, as --type"),
        EnvironmentText(name: "CREDMGR_ACCOUNT", meaning: "the account, as --account"),
        EnvironmentText(name: "CREDMGR_GROUP", meaning: "the keychain group, as --group"),
        EnvironmentText(name: "CREDMGR_STORE", meaning: "where secrets are kept, as --store"),
        EnvironmentText(name: "CREDMGR_CACHE", meaning: "'off' keeps tokens and keys out of the kernel's keyring"),
        EnvironmentText(name: "CREDMGR_PASSPHRASE_FILE", meaning: "a file with the passphrase of the file store"),
        EnvironmentText(
            name: "CREDMGR_PASSPHRASE_COMMAND", meaning: "a command that prints the passphrase of the file store"),
        EnvironmentText(name: "CREDMGR_NO_INPUT", meaning: "never ask for anything, as --no-input"),
        EnvironmentText(name: "BROWSER", meaning: "the browser that 'login' opens, in place of xdg-open"),
        EnvironmentText(name: "NO_COLOR", meaning: "no colour in messages"),
        EnvironmentText(
            name: "XDG_CONFIG_HOME, XDG_DATA_HOME, …", meaning: "where configuration and data are, as everywhere"),
    ]
}
