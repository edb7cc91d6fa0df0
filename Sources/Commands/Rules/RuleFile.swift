import CredentialCore
import StrictJSON

/// The rules in the text of `config.json`. All other bytes stay as they are, comments included.
struct RuleFile {
    /// The file.
    let path: String
    private let text: String?

    /// Reads the file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``.
    init(_ session: Session) throws(CredentialError) {
        path = session.context.configurationFile
        text = try SetupEdit.text(path, session.context.programs)
    }

    /// Writes a changed text.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ changed: String, _ session: Session) throws(CredentialError) {
        try session.context.programs.replaceFile(path, Array(changed.utf8), isProgram: false)
    }

    /// The text with a rule at a place, in front of the rule that is there now.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a file that is not what it should be.
    func adding(_ rule: String, at place: Int) throws(CredentialError) -> String {
        guard let text, let entries, place > 0, let last = entries.ranges.last else {
            return try JSONInsertion(member: Self.member, isArray: true, entry: rule).added(to: text)
        }
        guard place < entries.ranges.count else {
            return text[..<last.upperBound] + ",\n    " + rule + text[last.upperBound...]
        }
        let start = entries.ranges[place].lowerBound
        return text[..<start] + rule + ",\n    " + text[start...]
    }

    /// The text with another rule in the place of one.
    func replacing(_ place: Int, by rule: String) -> String? {
        guard let text, let entries, entries.ranges.indices.contains(place) else { return nil }
        let range = entries.ranges[place]
        return text[..<range.lowerBound] + rule + text[range.upperBound...]
    }

    /// The text without a rule.
    func removing(_ place: Int) -> String? {
        guard let entries, entries.ranges.indices.contains(place) else { return nil }
        return entries.without(place)
    }

    private static let member = "rules"

    private var entries: JSONEntries? {
        guard let text, let file = JSONEntries(ofFile: text) else { return nil }
        return file.ranges.first { file.value(of: $0)?.object?[Self.member] != nil }
            .flatMap { JSONEntries(ofMember: $0, in: text) }
    }
}

/// A rule to be written.
struct NewRule {
    /// The rule.
    let rule: AccountRule
    /// The rule as JSON.
    let text: String

    /// Makes a rule of the members of its object, in the order they are written.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key that is not valid.
    init(_ members: [(key: String, value: String?)]) throws(CredentialError) {
        var object = JSONObject()
        for (key, value) in members { if let value { object[key] = .string(value) } }
        let document = JSONObject(["rules": .array([.object(object)])])
        guard let rule = try ProductConfiguration(json: document, place: "the new rule").rules.first else {
            throw CredentialError(.internalFault, "there is no such rule")
        }
        self.rule = rule
        let parts = members.compactMap { member in
            member.value.map { "\(JSONValue.string(member.key).text()): \(JSONValue.string($0).text())" }
        }
        text = "{" + parts.joined(separator: ", ") + "}"
    }

    /// Where the rule belongs among others: behind those that are for less, before those that are for the same or more. The first
    /// rule that matches is applied, so no rule that is for more keeps this one from being applied.
    func place(among rules: [AccountRule]) -> Int {
        rules.firstIndex { !rule.reach.isWider(than: $0.reach) } ?? rules.count
    }

    /// Where a rule for the same place, and for the same type, is already; `nil` if there is none.
    func rival(among rules: [AccountRule]) -> Int? {
        rules.firstIndex { other in
            other.directory == rule.directory && other.place == rule.place
                && (other.type == rule.type || other.type == nil || rule.type == nil)
        }
    }
}

extension AccountRule {
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

extension Session {
    /// A directory with all below it, as a rule writes it; what has a `*` in it is a pattern already.
    ///
    /// - Parameter text: a directory, seen from the current one; `nil` for that.
    /// - Throws: ``ErrorCode/usage`` for a directory whose name a rule would take for a pattern.
    func ruleDirectory(_ text: String? = nil) throws(CredentialError) -> String {
        if let text, text.contains("*") { return shortened(text) }
        var parts: [Substring] = []
        if text.map({ !$0.hasPrefix("/") && !$0.hasPrefix("~") }) ?? true {
            guard let current = context.workingDirectories.first else {
                throw CredentialError(.inputOutput, "the current directory cannot be found")
            }
            guard !current.contains("*") else {
                throw CredentialError(
                    .usage, "a rule cannot name \(ForeignText.shown(current)): '*' in it is a pattern")
            }
            parts = current.split(separator: "/")
        }
        for part in (text ?? "").split(separator: "/") where part != "." {
            if part == ".." { parts = parts.dropLast() } else { parts.append(part) }
        }
        let isBelowHome = parts.first == "~"
        return shortened((isBelowHome ? "" : "/") + (parts + ["**"]).joined(separator: "/"))
    }

    /// A directory below the home directory, with `~` for that.
    private func shortened(_ directory: String) -> String {
        let home = context.environment["HOME"] ?? "/"
        guard home != "/", directory.hasPrefix(home + "/") else { return directory }
        return "~" + directory.dropFirst(home.count)
    }

    /// Writes a rule; one for the same place is replaced.
    ///
    /// - Returns: whether it replaced one.
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``.
    @discardableResult
    func write(_ new: NewRule) throws(CredentialError) -> Bool {
        let file = try RuleFile(self), rules = configuration.rules
        if let place = new.rival(among: rules), let text = file.replacing(place, by: new.text) {
            try file.write(text, self)
            return true
        }
        try file.write(try file.adding(new.text, at: new.place(among: rules)), self)
        return false
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
                "a rule names no group: account \(account.id) is in group \(group), account type \(type) is of \(own)"
            )
        }
        guard let username = account.username else { return account.id }
        let fitting = try context.records.index(of: group, .none).withUnreadable.matches(
            for: username, of: account.registration)
        return fitting.map(\.id) == [account.id] ? username : account.id
    }
}
