import Broker
import CredentialCore
import StrictJSON
import Synchronization

/// The configuration files of brokers: `$XDG_CONFIG_HOME/credmgr/brokers/NAME.json`.
struct BrokerFiles: Sendable {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    /// The directory of the files.
    private var folder: String {
        let file = context.configurationFile
        return (file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "") + "/brokers"
    }

    /// Returns a name that obeys the rule for names.
    ///
    /// - Throws: ``ErrorCode/usage``.
    static func checked(_ name: String) throws(CredentialError) -> String {
        guard Identifier.isValid(name) else {
            throw CredentialError(
                .usage, "'\(UntrustedText.shown(name, limit: 60))' is not a valid name of a broker",
                hint: "use 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or digit")
        }
        return name
    }

    /// The path of a broker's file.
    func path(of name: String) -> String { "\(folder)/\(name).json" }

    /// The names of all brokers, sorted.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func names() throws(CredentialError) -> [String] {
        try context.typeFiles.names(in: folder).filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }
            .filter(Identifier.isValid).sorted()
    }

    /// Reads the members of a broker's file; `nil` if it does not exist.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a file that others can write, and for a file that is not JSON.
    func object(_ name: String) throws(CredentialError) -> JSONObject? {
        let path = path(of: name)
        let file: DefinitionFile?
        do throws(CredentialError) { file = try context.typeFiles.read(path) } catch {
            // A file of another user, or one that others can write, is a fault of the configuration.
            throw CredentialError(.configuration, error.text, hint: error.advice, details: error.details)
        }
        guard let file else { return nil }
        let json: JSONValue
        do { json = try JSONValue.parse(file.bytes) } catch {
            throw CredentialError(
                .configuration, "\(UntrustedText.shown(path)) is not JSON: \(error.reason.text)")
        }
        guard let object = json.object else {
            throw CredentialError(.configuration, "\(UntrustedText.shown(path)) must be a JSON object")
        }
        return object
    }

    /// Reads a broker's file.
    ///
    /// - Throws: ``ErrorCode/configuration``; ``ErrorCode/usage`` if it does not exist.
    func read(_ name: String) throws(CredentialError) -> BrokerConfiguration {
        guard let object = try object(name) else { throw missing(name) }
        return try BrokerConfiguration(name: name, json: object, place: path(of: name))
    }

    /// The error for a broker that is not defined.
    func missing(_ name: String) -> CredentialError {
        CredentialError(
            .usage, "no broker \(name): \(UntrustedText.shown(path(of: name))) does not exist",
            hint: "credmgr broker add --help")
    }

    /// Checks a broker's file and writes it.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a value that is not valid; ``ErrorCode/inputOutput``.
    func write(_ object: JSONObject, of name: String) throws(CredentialError) {
        _ = try BrokerConfiguration(name: name, json: object, place: path(of: name))
        try context.typeFiles.write(JSONValue.object(object).bytes(.indented) + [0x0A], to: path(of: name))
    }

    /// Removes a broker's file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove(_ name: String) throws(CredentialError) { try context.typeFiles.remove(path(of: name)) }

    /// Returns the file of a running broker. The first look reads it: it may be newer than the one of the start.
    func watched(_ name: String) -> any BrokerFile { WatchedFile(self, name, context.fileStates) }

    /// A file that is read again when its metadata differ.
    private final class WatchedFile: BrokerFile {
        private let files: BrokerFiles
        private let name: String
        private let states: any FileStamps
        /// The stamp at the last look; `nil` before the first one.
        private let last = Mutex<FileStamp??>(nil)

        init(_ files: BrokerFiles, _ name: String, _ states: any FileStamps) {
            self.files = files
            self.name = name
            self.states = states
        }

        // The stamp precedes the read, so that a replacement in between is found by the next look.
        func look() -> BrokerFileChange {
            let now = states.state(of: files.path(of: name))
            let isSame = last.withLock { last in
                defer { last = now }
                return last == .some(now)
            }
            if isSame { return .same }
            if now == nil { return .removed }
            do throws(CredentialError) { return .replaced(try files.read(name)) } catch {
                return .unusable(error)
            }
        }
    }
}
