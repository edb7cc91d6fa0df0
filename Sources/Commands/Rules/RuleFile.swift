import CredentialCore
import StrictJSON

/// The rules in the text of `config.json`. All other bytes stay as they are, comments included.
struct RuleFile {
    /// The file.
    let path: String
    /// The rules of the text.
    let rules: [SelectionRule]
    private let text: String?

    /// Reads a text of the file.
    ///
    /// - Parameters:
    ///   - text: the text; `nil` if there is no file.
    ///   - path: the file, for messages.
    /// - Throws: ``ErrorCode/configuration`` for a file that is not valid.
    private init(_ text: String?, at path: String) throws(CredentialError) {
        self.path = path
        self.text = text
        rules = try text.map { (text) throws(CredentialError) in try Self.rules(of: text, at: path) } ?? []
    }

    /// Changes the file under its lock, so that no change of another process is lost between the read and the
    /// write.
    ///
    /// - Parameters:
    ///   - session: the session of the command.
    ///   - change: returns the new text, made of one read of the file, and the result of the change.
    /// - Returns: the result of the change.
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``, ``ErrorCode/lockTimeout``; the errors of
    ///   `change`.
    static func change<Result>(
        _ session: CommandSession, _ change: (RuleFile) throws(CredentialError) -> (text: String, result: Result)
    ) throws(CredentialError) -> Result {
        let path = session.context.configurationFile
        let lock = try session.context.locks.lock(lockName, in: .standard, seconds: lockSeconds)
        defer { lock.release() }
        let (text, result) = try change(RuleFile(try SetupEdit.text(path, session.context.programs), at: path))
        try session.context.programs.replaceFile(path, Array(text.utf8), isProgram: false)
        return result
    }

    private static let lockName = "config.json"
    /// A change takes milliseconds.
    private static let lockSeconds = 10

    private static func rules(of text: String, at path: String) throws(CredentialError) -> [SelectionRule] {
        let members: JSONObject?
        do { members = try JSONValue.parse(Array(text.utf8), dialect: .commented).object } catch {
            throw CredentialError(.configuration, "\(path) is not JSON: \(error)")
        }
        guard let members else { throw CredentialError(.configuration, "\(path) must be a JSON object") }
        return try Configuration(json: members, place: path).rules
    }

    /// The text with a rule at a place, in front of the rule that is there now.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a file that is not valid.
    func adding(_ rule: String, at place: Int) throws(CredentialError) -> String {
        try Self.adding(rule, at: place, to: text)
    }

    private static func adding(
        _ rule: String, at place: Int, to text: String?
    ) throws(CredentialError) -> String {
        guard let text, let entries = entries(of: text), place > 0, let last = entries.ranges.last else {
            return try JSONInsertion(member: Self.member, isArray: true, entry: rule).added(to: text)
        }
        guard place < entries.ranges.count else {
            return text[..<last.upperBound] + ",\n    " + rule + text[last.upperBound...]
        }
        let start = entries.ranges[place].lowerBound
        return text[..<start] + rule + ",\n    " + text[start...]
    }

    /// The text with a rule in place of another one, and the text of that.
    ///
    /// The new rule has the other's place if `place` is the same among the remaining rules. A rule that stays
    /// behind one for more would never be applied.
    ///
    /// - Throws: as ``adding(_:at:)``.
    func replacing(
        _ old: Int, by rule: String, at place: Int
    ) throws(CredentialError) -> (text: String, replaced: String)? {
        guard let text, let entries = Self.entries(of: text), entries.ranges.indices.contains(old) else {
            return nil
        }
        let range = entries.ranges[old], replaced = String(text[range])
        if place == old { return (text[..<range.lowerBound] + rule + text[range.upperBound...], replaced) }
        return (try Self.adding(rule, at: place, to: entries.without(old)), replaced)
    }

    /// The text without a rule.
    func removing(_ place: Int) -> String? {
        guard let text, let entries = Self.entries(of: text), entries.ranges.indices.contains(place) else {
            return nil
        }
        return entries.without(place)
    }

    private static let member = "rules"

    private static func entries(of text: String) -> JSONEntries? {
        guard let file = JSONEntries(ofFile: text) else { return nil }
        return file.ranges.first { file.value(of: $0)?.object?[Self.member] != nil }
            .flatMap { JSONEntries(ofMember: $0, in: text) }
    }
}

/// A rule to be written.
struct NewRule {
    /// The rule.
    let rule: SelectionRule
    /// The rule as JSON.
    let text: String

    /// Makes a rule of the members of its object, in the order they are written.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key that is not valid.
    init(_ members: [(key: String, value: String?)]) throws(CredentialError) {
        var object = JSONObject()
        for (key, value) in members { if let value { object[key] = .string(value) } }
        let document = JSONObject(["rules": .array([.object(object)])])
        guard let rule = try Configuration(json: document, place: "the new rule").rules.first else {
            throw CredentialError(.internalFault, "there is no such rule")
        }
        self.rule = rule
        let parts = members.compactMap { member in
            member.value.map { "\(JSONValue.string(member.key).text()): \(JSONValue.string($0).text())" }
        }
        text = "{" + parts.joined(separator: ", ") + "}"
    }

    /// The position of the rule among others: behind those that are for less, before those that are for the same or
    /// more. The first rule that matches is applied, so no rule that is for more keeps this one from being applied.
    func place(among rules: [SelectionRule]) -> Int {
        rules.firstIndex { !rule.reach.isWider(than: $0.reach) } ?? rules.count
    }

    /// The position of a rule for the same place and the same type; `nil` if there is no such rule. A rule without
    /// a type is for every type, so it is no rival of a rule for one.
    func rival(among rules: [SelectionRule]) -> Int? {
        rules.firstIndex { other in
            other.directory == rule.directory && other.place == rule.place && other.type == rule.type
        }
    }
}

extension SelectionRule {
    /// For how much a rule is.
    struct Reach {
        fileprivate let parts: [Int]

        /// Whether it is for more than another one: a rule for a server is for less than one for a directory.
        func isWider(than other: Reach) -> Bool { parts.lexicographicallyPrecedes(other.parts) }
    }

    /// How much it is for.
    var reach: Reach {
        let names = directory?.split(separator: "/").filter { !$0.contains("*") }.count ?? 0
        let paths = place?.path?.split(separator: "/").count ?? 0
        return Reach(parts: [place == nil ? 0 : 1, paths, names])
    }
}

extension CommandSession {
    /// A directory with all below it, as a rule writes it; a text with a `*` in it is a pattern already.
    ///
    /// - Parameter text: a directory, seen from the current one; `nil` for that.
    /// - Throws: ``ErrorCode/usage`` for a directory whose name a rule would take for a pattern.
    func ruleDirectory(_ text: String? = nil) throws(CredentialError) -> String {
        if let text {
            guard !text.isEmpty else { throw CredentialError(.usage, "--directory is empty") }
            if text.hasPrefix("~"), text != "~", !text.hasPrefix("~/") {
                throw CredentialError(
                    .usage, "a rule cannot name the home directory of another user: \(UntrustedText.shown(text))")
            }
            if text.contains("*") { return shortened(text) }
        }
        var parts: [Substring] = []
        if text.map({ !$0.hasPrefix("/") && !$0.hasPrefix("~") }) ?? true {
            guard let current = context.workingDirectories.first else {
                throw CredentialError(.inputOutput, "the current directory cannot be found")
            }
            guard !current.contains("*") else {
                throw CredentialError(
                    .usage, "a rule cannot name \(UntrustedText.shown(current)): '*' is a pattern")
            }
            parts = current.split(separator: "/")
        }
        var rest = Substring(text ?? "")
        if rest.hasPrefix("~") {
            // Before `..` is resolved, which may leave the home directory.
            parts = (context.environment["HOME"] ?? "/").split(separator: "/")
            rest = rest.dropFirst()
        }
        for part in rest.split(separator: "/") where part != "." {
            if part == ".." { parts = parts.dropLast() } else { parts.append(part) }
        }
        return shortened("/" + (parts + ["**"]).joined(separator: "/"))
    }

    /// A directory below the home directory, with `~` for that.
    private func shortened(_ directory: String) -> String {
        let home = context.environment["HOME"] ?? "/"
        guard home != "/", directory.hasPrefix(home + "/") else { return directory }
        return "~" + directory.dropFirst(home.count)
    }

    /// Writes a rule; one for the same place and type is replaced.
    ///
    /// - Returns: the text of the rule that it replaced; `nil` if there was no such rule.
    /// - Throws: as ``RuleFile/change(_:_:)``.
    @discardableResult
    func write(_ new: NewRule) throws(CredentialError) -> String? {
        try RuleFile.change(self) { (file) throws(CredentialError) in
            if let old = new.rival(among: file.rules) {
                var others = file.rules
                others.remove(at: old)
                if let (text, replaced) = try file.replacing(old, by: new.text, at: new.place(among: others)) {
                    return (text, replaced)
                }
            }
            return (try file.adding(new.text, at: new.place(among: file.rules)), nil)
        }
    }

    /// How a rule names an account: by its user name if no other account of the group has that, else by its ID.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - group: its group.
    ///   - type: the type that the rule names.
    /// - Throws: ``ErrorCode/usage`` if the type's group is another one: a rule names no group.
    func ruleName(
        of account: Account, in group: KeychainGroup, type: String
    ) throws(CredentialError) -> String {
        let own = try TargetResolver(self).type(named: type).keychainGroup
        guard own == group else {
            throw CredentialError(
                .usage,
                "a rule cannot select a group: account \(account.id) is in group \(group), account type \(type) in "
                    + "group \(own)"
            )
        }
        guard let username = account.username else { return account.id }
        let fitting = try context.records.index(of: group, .none).withUnreadable.matches(
            for: username, of: account.registration)
        return fitting.map(\.id) == [account.id] ? username : account.id
    }
}
