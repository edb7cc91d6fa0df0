import CredentialCore

/// A failure between credmgr and the Secret Service.
struct SecretServiceError: Error {
    /// The kind of remedy that the caller has.
    enum Kind: Equatable {
        /// libsecret is not installed.
        case noLibrary
        /// The session bus does not answer.
        case noBus
        /// No program on the bus provides the service, and the bus does not start one.
        case noService
        /// The connection or the session is gone; a new one may work.
        case disconnected
        /// No answer in time.
        case timedOut
        /// The item or collection is locked.
        case locked
        /// The object does not exist: another program removed it just now.
        case noSuchObject
        /// The service offers no encryption on the way.
        case noEncryption
        /// The answer is there, but its content cannot be a secret of ours.
        case damaged
        /// Anything else.
        case other
    }

    let kind: Kind
    /// The reason as GLib or the service words it; foreign text.
    let message: LocalizedMessage
    /// The path of the object that was asked.
    let object: String?

    init(_ kind: Kind, _ message: LocalizedMessage, object: String? = nil) {
        self.kind = kind
        self.message = message
        self.object = object
    }

    /// A fault from an error reply of the bus or the service.
    init(remoteError name: String, _ message: String) {
        let kind: Kind =
            switch name {
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
                "org.freedesktop.DBus.Error.Spawn.ServiceNotFound", "org.freedesktop.DBus.Error.Spawn.ExecFailed",
                "org.freedesktop.DBus.Error.Spawn.ChildExited":
                .noService
            case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected",
                "org.freedesktop.Secret.Error.NoSession":
                .disconnected
            case "org.freedesktop.DBus.Error.TimedOut", "org.freedesktop.DBus.Error.Timeout": .timedOut
            case "org.freedesktop.Secret.Error.IsLocked": .locked
            case "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject":
                .noSuchObject
            // GLib answers so for a path that no object has any more, as gnome-keyring's of an item that was just
            // removed.
            case "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface":
                ["Object does not exist at path", "No such interface"].contains(where: message.hasPrefix)
                    ? .noSuchObject : .other
            default: .other
            }
        self.init(kind, LocalizedMessage(verbatim: message))
    }

    /// The fault as users see it.
    var credentialError: CredentialError {
        let message = message.description
        let details = message.isEmpty ? [] : [UntrustedText.shown(message)]
        switch kind {
        case .noLibrary:
            return CredentialError(
                .storeUnavailable, self.message,
                hint: "apt-get install libsecret-1-0, or sign in with --duplicate --store file"
            ).withoutBus
        case .noBus:
            return CredentialError(
                .storeUnavailable, "the Secret Service is unreachable: the session bus does not respond",
                hint: Self.otherStore,
                details: details
            ).withoutBus
        case .noService:
            return CredentialError(
                .storeUnavailable, "no program provides the Secret Service on the session bus",
                hint: "start gnome-keyring, KeePassXC or another keyring, or sign in with --duplicate --store file",
                details: details)
        case .disconnected:
            return CredentialError(
                .storeUnavailable, "the Secret Service disconnected during the request", hint: "try again",
                details: details)
        case .timedOut: return Self.silent
        case .locked: return Self.locked
        case .noSuchObject:
            return CredentialError(
                .storeUnavailable, "the keyring changed while it was read", hint: "try again", details: details)
        case .noEncryption:
            return CredentialError(
                .storeUnavailable, "the Secret Service offers no encrypted session", hint: Self.otherStore,
                details: details)
        case .damaged:
            return CredentialError(
                .storeDamaged, "the keyring's item has no usable secret", hint: "sign in again",
                details: details)
        case .other:
            return CredentialError(
                .storeUnavailable, "the Secret Service refused: \(UntrustedText.shown(message))",
                hint: Self.otherStore)
        }
    }

    /// The store is there but locked, and no user can be asked here.
    static let locked = CredentialError(
        .storeLocked, "the keyring of the Secret Service is locked",
        hint: "in a desktop session, run: credmgr store unlock")

    /// The service did not answer before the deadline.
    static let silent = CredentialError(
        .storeUnavailable, "the Secret Service does not respond", hint: "restart the keyring")

    /// No keyring is the default one.
    static let noDefaultCollection = CredentialError(
        .storeUnavailable, "the Secret Service has no default keyring yet",
        hint: "create one in the keyring's own program, or sign in with --duplicate --store file")

    /// There is no bus to look on.
    static let noBusAddress = CredentialError(
        .storeUnavailable, "the Secret Service is unreachable: there is no session bus",
        hint: "run this in a desktop session, or sign in with --duplicate --store file")

    private static var otherStore: LocalizedMessage { "sign in with --duplicate --store file" }
}
