import CredentialCore
import Platform

/// The Secret Service's own operations on our items, each one call over the bus.
///
/// This type does not unlock or ask by itself: locked objects, and those that need the user, are part of the
/// answers.
final class SecretServiceSession: Sendable {
    /// The result of a search, with the question settled whether an empty answer can be believed.
    enum Search {
        /// Open items in the default collection; never empty.
        case found([String])
        /// These objects must be unlocked before anything can be said.
        case locked([String])
        /// The default collection is open and has no such item.
        case absent
        /// Items in collections other than the default one, which has no such item.
        case elsewhere([String])
        /// There is no default collection.
        case noDefaultCollection
    }

    private let connection: SecretServiceConnection
    private let collectionAtStart: String?

    /// Connects to the session bus and begins to open an encrypted session.
    init(library: LibSecret, whileWaiting: () -> Void, until deadline: Deadline) throws(SecretServiceError) {
        connection = try SecretServiceConnection(
            library: library, asking: Self.defaultCollection, whileWaiting: whileWaiting, until: deadline)
        collectionAtStart = Self.objectPath(connection.firstAnswer)
    }

    /// Waits until the session is open: a service that offers no encryption is not believed in anything.
    func establish(until deadline: Deadline) throws(SecretServiceError) {
        _ = try connection.session(until: deadline)
    }

    /// Waits until no work goes on in the background any more; false when some still does at the deadline.
    func settle(until deadline: Deadline) -> Bool { connection.settle(until: deadline) }

    /// The path of the default collection; `nil` when it does not exist. A session stays with the one it began
    /// with.
    func defaultCollection(until deadline: Deadline) throws(SecretServiceError) -> String? {
        if let collectionAtStart { return collectionAtStart }
        return Self.objectPath(try service(Self.defaultCollection, deadline))
    }

    /// Searches without unlocking.
    func search(_ attributes: [(String, String)], until deadline: Deadline) throws(SecretServiceError) -> Search {
        guard let collection = try defaultCollection(until: deadline) else { return .noDefaultCollection }
        // Before the search: KeePassXC would open a window and wait for the person in the middle of it.
        if try isLocked(collection, until: deadline) { return .locked([collection]) }
        let query = BusValue.array(of: "{ss}", attributes.map { .entry($0.0, .string($0.1)) })
        let lists = try service(
            MethodCall(method: "SearchItems", arguments: .tuple([query]), reply: "(aoao)"), deadline
        ).children.map { list in list.children.map(\.text) }
        let open = lists.first ?? []
        let locked = lists.last ?? []
        let openHere = open.filter { $0.hasPrefix(collection + "/") }
        if !openHere.isEmpty { return .found(openHere) }
        let lockedHere = locked.filter { $0.hasPrefix(collection + "/") }
        if !lockedHere.isEmpty { return .locked(lockedHere) }
        // And after it: a collection that was locked meanwhile shows no items.
        if try isLocked(collection, until: deadline) { return .locked([collection]) }
        return (open + locked).isEmpty ? .absent : .elsewhere(open + locked)
    }

    /// Whether a collection is locked.
    func isLocked(_ collection: String, until deadline: Deadline) throws(SecretServiceError) -> Bool {
        try property("Locked", "org.freedesktop.Secret.Collection", of: collection, type: "b", deadline).truth
    }

    /// A collection's name as its owner gave it.
    func label(ofCollection path: String, until deadline: Deadline) throws(SecretServiceError) -> String {
        try property("Label", "org.freedesktop.Secret.Collection", of: path, type: "s", deadline).text
    }

    /// When an item last changed, in seconds of the service's clock.
    func modified(_ item: String, until deadline: Deadline) throws(SecretServiceError) -> UInt64 {
        try property("Modified", Self.item, of: item, type: "t", deadline).number
    }

    /// The attributes of an open item.
    func attributes(of item: String, until deadline: Deadline) throws(SecretServiceError) -> [(String, String)] {
        try property("Attributes", Self.item, of: item, type: "a{ss}", deadline).children.map { entry in
            let pair = entry.children.map(\.text)
            return (pair.first ?? "", pair.last ?? "")
        }
    }

    /// The secret of an open item.
    func secret(of item: String, until deadline: Deadline) throws(SecretServiceError) -> GuardedSecret {
        let session = try connection.session(until: deadline)
        let reply = try connection.call(
            item, Self.item, "GetSecret", .tuple([.path(session.path)]), reply: "((oayays))", until: deadline)
        guard let secret = reply.children.first.flatMap({ session.decrypted($0) }) else {
            throw SecretServiceError(.damaged, "the secret cannot be decrypted")
        }
        return secret
    }

    /// The secrets of several open items, by their paths; without those that are locked or gone.
    func secrets(of items: [String], until deadline: Deadline) throws(SecretServiceError) -> [String: GuardedSecret]
    {
        let session = try connection.session(until: deadline)
        let paths = BusValue.array(of: "o", items.map { .path($0) })
        let reply = try service(
            MethodCall(
                method: "GetSecrets", arguments: .tuple([paths, .path(session.path)]), reply: "(a{o(oayays)})"),
            deadline)
        var secrets: [String: GuardedSecret] = [:]
        for entry in reply.children.first?.children ?? [] {
            let pair = entry.children
            guard let path = pair.first, let secret = pair.last.flatMap({ session.decrypted($0) }) else { continue }
            secrets[path.text] = secret
        }
        return secrets
    }

    /// Replaces the secret of an open item.
    func setSecret(_ secret: [UInt8], of item: String, until deadline: Deadline) throws(SecretServiceError) {
        let value = try connection.session(until: deadline).encrypted(secret)
        _ = try connection.call(item, Self.item, "SetSecret", .tuple([.built(value)]), reply: "()", until: deadline)
    }

    /// Creates an item in the default collection.
    ///
    /// - Returns: the question that has to be answered before the item exists, if there is one.
    func create(
        _ secret: [UInt8], _ attributes: [(String, String)], label: String, in collection: String,
        until deadline: Deadline
    ) throws(SecretServiceError) -> String? {
        let properties: [BusValue] = [
            .entry(Self.item + ".Label", .variant(.string(label))),
            .entry(
                Self.item + ".Attributes",
                .variant(.array(of: "{ss}", attributes.map { .entry($0.0, .string($0.1)) }))),
        ]
        let value = try connection.session(until: deadline).encrypted(secret)
        // Never with "replace": KeePassXC hangs on it.
        let reply = try connection.call(
            collection, "org.freedesktop.Secret.Collection", "CreateItem",
            .tuple([.array(of: "{sv}", properties), .built(value), .boolean(false)]), reply: "(oo)", until: deadline
        )
        return Self.objectPath(reply)
    }

    /// Deletes an item; gives the question that has to be answered first, if there is one.
    func delete(_ item: String, until deadline: Deadline) throws(SecretServiceError) -> String? {
        Self.objectPath(try connection.call(item, Self.item, "Delete", .tuple([]), reply: "(o)", until: deadline))
    }

    /// Unlocks the objects that need no question; gives the question for the rest, if there is one.
    func unlock(_ objects: [String], until deadline: Deadline) throws(SecretServiceError) -> String? {
        let paths = BusValue.array(of: "o", objects.map { .path($0) })
        return Self.objectPath(
            try service(MethodCall(method: "Unlock", arguments: .tuple([paths]), reply: "(aoo)"), deadline))
    }

    /// Lets the keyring ask a question.
    func ask(_ prompt: String, until deadline: Deadline) throws(SecretServiceError)
        -> SecretServiceConnection.PromptOutcome
    {
        try connection.ask(prompt, until: deadline)
    }

    /// The process that provides the service.
    func ownerProcess(until deadline: Deadline) throws(SecretServiceError) -> UInt64 {
        let bus = "org.freedesktop.DBus"
        let reply = try connection.call(
            "/org/freedesktop/DBus", bus, "GetConnectionUnixProcessID",
            .tuple([.string(SecretServiceConnection.name)]),
            reply: "(u)", until: deadline, of: bus)
        return reply.children.first?.number ?? 0
    }

    private static let item = "org.freedesktop.Secret.Item"

    private static let defaultCollection = MethodCall(
        method: "ReadAlias", arguments: .tuple([.string("default")]), reply: "(o)")

    private func service(_ question: MethodCall, _ deadline: Deadline) throws(SecretServiceError) -> BusReply {
        try connection.call(
            SecretServiceConnection.servicePath, SecretServiceConnection.interface, question.method,
            question.arguments,
            reply: question.reply, until: deadline)
    }

    private func property(
        _ name: String, _ interface: String, of path: String, type: String, _ deadline: Deadline
    ) throws(SecretServiceError) -> BusReply {
        let reply = try connection.call(
            path, "org.freedesktop.DBus.Properties", "Get", .tuple([.string(interface), .string(name)]),
            reply: "(v)",
            until: deadline)
        guard let value = reply.children.first?.unwrapped(as: type) else {
            throw SecretServiceError(.other, "\(name) does not have the type that the specification requires")
        }
        return value
    }

    /// The object path that an answer ends with; `/` means no object.
    private static func objectPath(_ reply: BusReply) -> String? {
        reply.children.last.flatMap { $0.text == "/" ? nil : $0.text }
    }
}
