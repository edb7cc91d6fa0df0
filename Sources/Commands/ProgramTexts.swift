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
        ExitStatusText(6, "temporary trouble of network, provider or lock; try again"),
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
        EnvironmentText("CREDMGR_GROUP", "the keychain group, as --group", isUsual: true),
        EnvironmentText("CREDMGR_STORE", "where secrets are kept, as --store", isUsual: true),
        EnvironmentText("CREDMGR_CACHE", "'off' keeps no token and no key between two calls", isUsual: true),
        EnvironmentText("CREDMGR_PASSPHRASE_FILE", "a file with the passphrase of the file store", isUsual: true),
        EnvironmentText(
            "CREDMGR_PASSPHRASE_COMMAND", "a command that prints the passphrase of the file store",
            isUsual: true),
        EnvironmentText("CREDMGR_NO_INPUT", "never ask for anything, as --no-input", isUsual: true),
        EnvironmentText("BROWSER", "the browser that 'login' opens, in place of xdg-open", isUsual: true),
        EnvironmentText("NO_COLOR", "no colour in messages", isUsual: true),
        EnvironmentText(
            "XDG_CONFIG_HOME, XDG_DATA_HOME, …", "where configuration and data are, as everywhere",
            isUsual: true),
        EnvironmentText("XDG_CACHE_HOME", "where what providers publish of themselves is kept for a while"),
        EnvironmentText("XDG_CONFIG_DIRS, XDG_DATA_DIRS", "where packages put types, presets and adapters"),
        EnvironmentText("XDG_STATE_HOME", "where digests of refresh tokens are kept that are used up"),
        EnvironmentText("XDG_RUNTIME_DIR", "where cached tokens are, sealed, and private files for the moment"),
        EnvironmentText("HOME", "where the folders are that no variable names"),
        EnvironmentText(
            "PATH", "where programs are looked for: browsers, the commands of exec, those that print secrets"),
        EnvironmentText(
            "PWD", "the folder that rules of config.json are looked up for, by the name it was entered by"),
        EnvironmentText("TMPDIR", "where the demonstration makes its home"),
        EnvironmentText(
            "USER", "the user's name in the command that brings a browser's answer over ssh, and in reports"),
        EnvironmentText(
            "CREDENTIALS_DIRECTORY", "where systemd puts the credentials of a service; the passphrase may be one"),
        EnvironmentText(
            "CREDMGR_CORRELATION_ID", "a UUID that finds the requests in the logs of Azure AD B2C; -v shows it"),
        EnvironmentText(
            "CREDMGR_ACCESSIBLE", "'1' for a screen reader: each line is written once and stays, as with TERM=dumb"),
        EnvironmentText("CREDMGR_SOCK", "the socket of a broker, which commands ask for tokens"),
        EnvironmentText("CREDMGR_SOCK_UID", "the user whose broker is trusted, by number, or 'any'"),
        EnvironmentText("LISTEN_FDS, LISTEN_PID", "the socket that systemd passes to 'broker serve'"),
        EnvironmentText(
            "CREDMGR_HANDLER", "set by the desktop's handler of redirects: the outcome is shown in the browser"),
        EnvironmentText("LD_PRELOAD", "code to load beforehand, as everywhere: the full program answers then"),
        EnvironmentText("DBUS_SESSION_BUS_ADDRESS", "the bus of the keyring; none is started"),
        EnvironmentText("SECRET_SERVICE_BUS_NAME", "another name than org.freedesktop.secrets on that bus"),
        EnvironmentText(
            "DISPLAY, WAYLAND_DISPLAY", "whether the desktop can ask for a passphrase or show a browser"),
        EnvironmentText("SSH_CONNECTION, SSH_TTY", "whether a browser would open where nobody sees it"),
        EnvironmentText("LANGUAGE, LC_ALL, LC_MESSAGES, LANG", "the language of messages, as everywhere"),
        EnvironmentText("TERM, LC_ALL, LC_CTYPE, LANG", "what the terminal can show: colour, QR codes"),
        EnvironmentText("XDG_CURRENT_DESKTOP", "named in the reports of doctor"),
        EnvironmentText(
            "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY", "the proxy, as curl has it; in lower case, too"),
        EnvironmentText(
            "CURL_CA_BUNDLE, SSL_CERT_FILE", "the certificates of authorities to trust, in place of the system's"),
        EnvironmentText("KUBERNETES_EXEC_INFO", "what kubectl asks for: the version of its object, the cluster"),
        EnvironmentText("AWS_REGION, AWS_DEFAULT_REGION", "the region of aws, where --region names none"),
        EnvironmentText("AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL", "another address of AWS STS"),
        EnvironmentText(
            "AZURE_SUBSCRIPTION_ID, ARM_SUBSCRIPTION_ID", "the subscription that az account show tells"),
        EnvironmentText(
            "AWS_CONFIG_FILE, CARGO_HOME, DOCKER_CONFIG, GIT_CONFIG_GLOBAL, GOENV, KUBECONFIG, NPM_CONFIG_USERCONFIG, "
                + "PIP_CONFIG_FILE, TF_CLI_CONFIG_FILE",
            "where setup finds the configuration of these programs"),
    ]
}

extension FileText {
    /// The files that are read and written, with the places they have without any variable.
    package static let all: [FileText] = [
        FileText("~/.config/credmgr/config.json", "the defaults of the program and the rules that choose accounts"),
        FileText("~/.config/credmgr/brokers/", "brokers, a file each"),
        FileText("~/.config/credmgr/types/", "definitions of account types, a file each"),
        FileText("~/.config/credmgr/presets/", "presets of providers, a file each"),
        FileText("/etc/xdg/credmgr/, /usr/share/credmgr/", "types and presets that packages bring"),
        FileText(
            "~/.local/share/credmgr/groups/", "the accounts of each keychain group, a file each; no secret in clear"
        ),
        FileText(
            "~/.local/state/credmgr/used/",
            "digests of used refresh tokens, so that no backup has one sent again"),
        FileText(
            "~/.local/share/credmgr/file-store.key", "the key file of the file store, where no passphrase is used"),
        FileText("~/.local/share/credmgr/setup.json", "what setup has written where, so that it can be taken back"),
        FileText("~/.local/share/credmgr/providers/", "adapters of your own"),
        FileText("/usr/lib/credmgr/providers/", "adapters that packages bring"),
        FileText("~/.cache/credmgr/metadata/", "metadata and keys of providers; may be deleted at any time"),
        FileText("~/.local/state/credmgr/metadata.key", "the key that seals the files in metadata/"),
    ]
}
