import Testing

/// One way in which the Secret Service fails, and how each command has to end then.
struct Fault: Sendable, CustomTestStringConvertible {
    /// The fault of `Tests/Fixtures/faulty-secret-service.py`, or one of ``Bus``.
    let name: String
    /// The exit statuses of `token`, `login --complete` and `logout`; `accounts` always ends with 0.
    let token: Int32, login: Int32, logout: Int32
    /// The user that signs in: bob is new, alice is known.
    var person = Person.bob
    /// Whether there is a display, so that the keyring may ask.
    var hasDisplay = false
    /// More options of each command.
    var options: [String] = []

    enum Person: Sendable { case alice, bob }

    var testDescription: String { name }

    /// The faults that are possible before there is a service at all.
    enum Bus: String, CaseIterable {
        /// No service on the bus provides it.
        case nobody = "no-service"
        /// The address leads nowhere.
        case dead = "dead-bus"
        /// There is no address.
        case none = "no-bus"
    }

    private init(
        _ name: String, _ token: Int32, _ login: Int32, _ logout: Int32, _ person: Person = .bob,
        display: Bool = false, options: [String] = []
    ) {
        self.name = name
        self.token = token
        self.login = login
        self.logout = logout
        self.person = person
        hasDisplay = display
        self.options = options
    }

    /// Another program removes each item while it is read, as a `logout` beside a `token` does.
    static let removedWhileRead = Fault("removed-while-read", 4, 0, 0)

    static let all: [Fault] = [
        // Not there.
        Fault("no-bus", 5, 5, 5),
        Fault("dead-bus", 5, 5, 5),
        Fault("no-service", 5, 5, 5),
        Fault("no-default-keyring", 5, 5, 5),
        // Silent, slow, dying.
        Fault("silent-ReadAlias", 5, 5, 5),
        Fault("silent-OpenSession", 5, 5, 5),
        Fault("silent-SearchItems", 5, 5, 5),
        Fault("silent-GetSecret", 5, 5, 5),
        Fault("silent-SetSecret", 0, 0, 0, .alice),
        Fault("silent-CreateItem", 0, 0, 0),
        Fault("silent-Delete", 0, 5, 5),
        Fault("silent-Unlock", 5, 5, 5),
        Fault("slow", 0, 0, 0),
        Fault("too-slow", 5, 5, 5),
        Fault("crash-on-GetSecret", 5, 5, 5),
        Fault("crash-on-CreateItem", 0, 0, 0),
        Fault("crash-after-CreateItem", 0, 0, 0),
        Fault("restart-once", 0, 0, 0),
        Fault("restart-always", 5, 5, 5),
        // Locked.
        Fault("locked", 5, 5, 5),
        Fault("locked-dismissed", 5, 7, 7, display: true),
        Fault("locked-stays-locked", 5, 5, 5, display: true),
        Fault("locked-prompt-crash", 5, 5, 5, display: true),
        Fault("locked-prompt-silent", 5, 5, 5, display: true, options: ["--timeout", "2"]),
        Fault("locked-prompt-unlocks", 5, 0, 0, display: true),
        Fault("item-locked", 5, 5, 5),
        // The key exchange.
        Fault("key-refused", 5, 5, 5),
        Fault("key-refused-twice", 0, 0, 0),
        Fault("key-malformed", 5, 5, 0),
        Fault("plain-only", 5, 5, 5),
        // Faults in reading. A user that signs out need not be able to read it.
        Fault("secret-empty", 5, 5, 0),
        Fault("secret-truncated", 5, 5, 0),
        Fault("secret-garbage", 5, 5, 0),
        Fault("secret-foreign-key", 5, 5, 0),
        Fault("secret-wrong-session", 5, 5, 0),
        Fault("secret-bad-parameters", 5, 5, 0),
        Fault("duplicates", 0, 0, 0),
        Fault("elsewhere", 5, 5, 5),
        Fault("vanishing-item", 5, 5, 5),
        Fault("wrong-type", 5, 5, 5),
        Fault("stray-replies", 0, 0, 0),
        Fault("hostile-error", 5, 5, 5),
        // Faults in writing. New tokens then wait in the journal; not those of a first sign-in whose person
        // refuses.
        Fault("create-dismissed", 0, 7, 0),
        Fault("create-dismissed-says-stored", 0, 7, 0),
        Fault("create-prompt-crash", 0, 0, 0, display: true),
        Fault("create-prompt-silent", 0, 0, 0, display: true, options: ["--timeout", "2"]),
        Fault("create-lost", 0, 0, 0),
        Fault("create-error", 0, 0, 0),
        Fault("set-lost", 0, 0, 0, .alice),
        Fault("set-error", 0, 0, 0, .alice),
        Fault("delete-dismissed", 0, 7, 7),
        Fault("delete-lost", 0, 5, 5),
        Fault("delete-error", 0, 5, 5),
        Fault("healthy", 0, 0, 0),
    ]
}
