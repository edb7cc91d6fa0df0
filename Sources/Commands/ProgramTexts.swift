package import CommandLine
import CredentialCore

extension ExitStatusText {
    /// Every status that a command can end with.
    package static let all: [ExitStatusText] = [
        ExitStatusText(0, "done"),
        ExitStatusText(1, "another failure"),
        ExitStatusText(2, "wrong usage or configuration"),
        ExitStatusText(3, "no such account, or several and no default"),
        ExitStatusText(4, "sign-in required; the hint is the command to run"),
        ExitStatusText(5, "the secret store is locked or unavailable"),
        ExitStatusText(6, "temporary failure of network, provider or lock; try again"),
        ExitStatusText(7, "denied by the user, the provider or a rule"),
        ExitStatusText(8, "'request' got an HTTP status of 400 or more"),
        ExitStatusText(130, "interrupted"),
    ]
}

extension EnvironmentText {
    /// The variables that are read. Options beat them; they beat files.
    static let all: [EnvironmentText] = [
        EnvironmentText("CREDMGR_TYPE", "the account type, as --type", isUsual: true),
        EnvironmentText("CREDMGR_ACCOUNT", "the account, as --account", isUsual: true),
        EnvironmentText("CREDMGR_GROUP", "the group, as --group", isUsual: true),
        EnvironmentText("CREDMGR_STORE", "the store for secrets, as --store", isUsual: true),
        EnvironmentText("CREDMGR_CACHE", "'off' caches no tokens and no keys between calls", isUsual: true),
        EnvironmentText("CREDMGR_PASSPHRASE_FILE", "a file with the passphrase of the file store", isUsual: true),
        EnvironmentText(
            "CREDMGR_PASSPHRASE_COMMAND", "a command that prints the passphrase of the file store",
            isUsual: true),
        EnvironmentText("CREDMGR_NO_INPUT", "never prompt, as --no-input", isUsual: true),
        EnvironmentText("BROWSER", "the browser that 'login' opens, in place of xdg-open", isUsual: true),
        EnvironmentText("NO_COLOR", "no colour in messages", isUsual: true),
        EnvironmentText(
            "XDG_CONFIG_HOME, XDG_DATA_HOME, …", "directories of configuration and data",
            isUsual: true),
        EnvironmentText("XDG_CACHE_HOME", "directory of cached provider metadata"),
        EnvironmentText(
            "XDG_CONFIG_DIRS, XDG_DATA_DIRS", "directories of types, presets and adapters from packages"),
        EnvironmentText("XDG_STATE_HOME", "directory of digests of used refresh tokens"),
        EnvironmentText("XDG_RUNTIME_DIR", "directory of encrypted cached tokens and temporary private files"),
        EnvironmentText("HOME", "the base of directories that no other variable names"),
        EnvironmentText(
            "PATH", "directories of programs: browsers, commands of exec, commands that print secrets"),
        EnvironmentText(
            "PWD", "the current directory as you entered it, for rules of config.json"),
        EnvironmentText("TMPDIR", "directory of the demonstration's temporary home"),
        EnvironmentText(
            "USER", "the user name in ssh commands for redirects, and in reports"),
        EnvironmentText(
            "CREDENTIALS_DIRECTORY", "directory of a service's credentials from systemd, such as the passphrase"),
        EnvironmentText(
            "CREDMGR_CORRELATION_ID", "a UUID to find requests in Azure AD B2C logs; -v prints it"),
        EnvironmentText("CREDMGR_SOCK", "the socket of a broker, which commands ask for tokens"),
        EnvironmentText("CREDMGR_SOCK_UID", "the user whose broker is trusted, by number, or 'any'"),
        EnvironmentText("LISTEN_FDS, LISTEN_PID", "the socket that systemd passes to 'broker serve'"),
        EnvironmentText(
            "CREDMGR_ACCESSIBLE", "'1' for a screen reader: print each line once, as with TERM=dumb"),
        EnvironmentText(
            "CREDMGR_HANDLER", "set by the desktop's redirect handler: the browser shows the result"),
        EnvironmentText("LD_PRELOAD", "libraries to preload; the full program then runs"),
        EnvironmentText("DBUS_SESSION_BUS_ADDRESS", "the session bus of the keyring; credmgr does not start a bus"),
        EnvironmentText("SECRET_SERVICE_BUS_NAME", "the bus name to use instead of org.freedesktop.secrets"),
        EnvironmentText(
            "DISPLAY, WAYLAND_DISPLAY", "whether the desktop can ask for a passphrase or show a browser"),
        EnvironmentText("SSH_CONNECTION, SSH_TTY", "whether this is a remote session, where no browser opens"),
        EnvironmentText("LANGUAGE, LC_ALL, LC_MESSAGES, LANG", "the language of messages"),
        EnvironmentText("TERM, LC_ALL, LC_CTYPE, LANG", "the capabilities of the terminal: colour, QR codes"),
        EnvironmentText("XDG_CURRENT_DESKTOP", "the desktop name in reports of doctor"),
        EnvironmentText("GPG_TTY", "the terminal that pinentry uses to ask for consent"),
        EnvironmentText(
            "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
            "the proxy, as for curl; lower-case names are also accepted"),
        EnvironmentText(
            "CURL_CA_BUNDLE, SSL_CERT_FILE", "certificates of trusted authorities, instead of the system's"),
        EnvironmentText("KUBERNETES_EXEC_INFO", "the request of kubectl: version of its object, and cluster"),
        EnvironmentText(
            "ACTIONS_ID_TOKEN_REQUEST_URL, ACTIONS_ID_TOKEN_REQUEST_TOKEN",
            "the endpoint from which GitHub Actions issues identity tokens to a job"),
        EnvironmentText(
            "SYSTEM_OIDCREQUESTURI, SYSTEM_ACCESSTOKEN",
            "the endpoint from which Azure DevOps issues identity tokens to a job"),
        EnvironmentText("AWS_REGION, AWS_DEFAULT_REGION", "the AWS region, if --region is missing"),
        EnvironmentText("AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL", "the URL to use for AWS STS"),
        EnvironmentText(
            "AZURE_SUBSCRIPTION_ID, ARM_SUBSCRIPTION_ID", "the subscription that az account show prints"),
        EnvironmentText(
            "AWS_CONFIG_FILE, CARGO_HOME, CLAUDE_CONFIG_DIR, DOCKER_CONFIG, GIT_CONFIG_GLOBAL, GOENV, KUBECONFIG, NPM_CONFIG_USERCONFIG, "
                + "PIP_CONFIG_FILE, TF_CLI_CONFIG_FILE",
            "the configuration of these programs, for setup"),
    ]
}

extension FileText {
    /// The files that are read and written, with the places they have without any variable.
    package static let all: [FileText] = [
        FileText("~/.config/credmgr/config.json", "the defaults of the program and the rules that choose accounts"),
        FileText("~/.config/credmgr/brokers/", "brokers, one file each"),
        FileText("~/.config/credmgr/types/", "definitions of account types, one file each"),
        FileText("~/.config/credmgr/presets/", "presets of providers, one file each"),
        FileText("/etc/xdg/credmgr/, /usr/share/credmgr/", "types and presets from packages"),
        FileText(
            "~/.local/share/credmgr/groups/", "the accounts of each group, one file each; no unencrypted secrets"
        ),
        FileText(
            "~/.local/state/credmgr/used/",
            "digests of used refresh tokens, to prevent their reuse after a restore"),
        FileText(
            "~/.local/share/credmgr/file-store.key", "the key file of the file store, if it has no passphrase"),
        FileText("~/.local/share/credmgr/setup.json", "the changes that setup made, for --undo"),
        FileText("~/.local/share/credmgr/providers/", "your own adapters"),
        FileText("/usr/lib/credmgr/providers/", "adapters from packages"),
        FileText("~/.cache/credmgr/metadata/", "metadata and keys of providers; may be deleted at any time"),
        FileText("~/.local/state/credmgr/metadata.key", "the key that authenticates the files in metadata/"),
    ]
}
