import CredentialCore
import StrictJSON

/// The record of the entries that `setup` has written, the place and the user of each entry, and the directories
/// that it has made. With it, `--undo` removes our text if a program has dropped our marks, keeps entries that
/// another setup needs, and leaves no empty directories.
struct SetupManifest: Sendable {
    /// A place that was written to.
    struct Entry: Sendable, Equatable {
        /// The file or link.
        let path: String
        /// The name of the entry there; empty if the whole file is ours.
        let name: String
        /// The lines, as they were written.
        var lines: [String] = []
        /// Whether the member of JSON that it is in came with an entry of ours.
        var isMemberOurs = false
        /// The setups that need it: `pip pypi.example.com`.
        var users: [String]
    }

    /// The path of the record.
    let path: String
    /// The entries that were written.
    var entries: [Entry] = []
    /// The folders that were made.
    var folders: [String] = []

    /// Reads it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/configuration`` for one that is damaged.
    init(_ request: SetupRequest, _ programs: any ProcessPort) throws(CredentialError) {
        path = request.dataHome + "/credmgr/setup.json"
        guard let bytes = try programs.readFile(path) else { return }
        guard let object = (try? JSONValue.parse(bytes))?.object, let listed = object["entries"]?.array else {
            throw CredentialError(
                .configuration, "\(UntrustedText.shown(path)) is damaged", hint: "move the file away first")
        }
        func strings(_ value: JSONValue?) -> [String] { value?.array?.compactMap(\.string) ?? [] }
        entries = listed.compactMap(\.object).map { entry in
            Entry(
                path: entry["path"]?.string ?? "", name: entry["name"]?.string ?? "",
                lines: strings(entry["lines"]), isMemberOurs: entry["is_member_ours"]?.bool ?? false,
                users: strings(entry["users"]))
        }
        folders = strings(object["folders"])
    }

    /// Writes it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func save(_ programs: any ProcessPort) throws(CredentialError) {
        let listed = entries.map { entry -> JSONValue in
            [
                "path": .string(entry.path), "name": .string(entry.name), "lines": JSONValue(entry.lines),
                "is_member_ours": .bool(entry.isMemberOurs),
                "users": JSONValue(entry.users),
            ]
        }
        let document: JSONValue = ["entries": .array(listed), "folders": JSONValue(folders)]
        try programs.replaceFile(path, document.bytes(.indented) + [0x0A], isProgram: false)
    }

    /// Writes it after something was taken back, and removes folders that are empty now.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    mutating func saveAndSweep(_ programs: any ProcessPort) throws(CredentialError) {
        if entries.isEmpty { try programs.removeFile(path) }
        for folder in folders.sorted(by: { $0.utf8.count > $1.utf8.count }) { programs.removeFolder(folder) }
        folders.removeAll { !programs.isThere($0) }
        if !entries.isEmpty { try save(programs) }
    }

    /// Puts an edit in that is about to be made.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``.
    mutating func add(_ edit: SetupEdit, for user: String, _ programs: any ProcessPort) throws(CredentialError) {
        for place in [edit.path, path] {
            var folder = place[...]
            while let slash = folder.lastIndex(of: "/"), slash > folder.startIndex {
                folder = folder[..<slash]
                if programs.isThere(String(folder)) { break }
                if !folders.contains(String(folder)) { folders.append(String(folder)) }
            }
        }
        let text = try edit.isText ? SetupEdit.text(edit.path, programs) : nil
        let place =
            place(of: edit)
            ?? {
                entries.append(Entry(path: edit.path, name: edit.name, users: []))
                return entries.endIndex - 1
            }()
        if let lines = edit.lines(in: text) {
            // A member has one value: the setups of the value before have no setting now.
            if case .member = edit, entries[place].lines != lines { entries[place].users = [] }
            entries[place].lines = lines
        }
        if case .json(let insertion, let path) = edit {
            // One that is ours is there for every entry of ours.
            entries[place].isMemberOurs =
                !insertion.hasMember(in: text)
                || entries.contains {
                    $0.path == path && $0.isMemberOurs && $0.name.hasPrefix(insertion.member + " ")
                }
        }
        if !entries[place].users.contains(user) { entries[place].users.append(user) }
    }

    /// Puts an edit out that this setup needs no longer.
    ///
    /// - Returns: the other setups that need it; it stays for them.
    mutating func remove(_ edit: SetupEdit, for user: String) -> [String] {
        guard let known = place(of: edit) else { return [] }
        entries[known].users.removeAll { $0 == user }
        let others = entries[known].users
        if others.isEmpty { entries.remove(at: known) }
        return others
    }

    /// The rule that was written for a host, for any type.
    func rule(for host: String, at path: String) -> SetupEdit? {
        let member = "rules"
        let texts = entries.filter { $0.path == path && $0.name.hasPrefix(member + " ") }
            .map { String($0.name.dropFirst(member.count + 1)) }
        return texts.first { $0.range(ofBytes: "\"host\": \"\(host)\"") != nil }
            .map { .json(JSONInsertion(member: member, isArray: true, entry: $0), path: path) }
    }

    /// An edit with the known facts: its form when it was written, and its file, should the program's files be
    /// others by now. A file that the user chose stays the one.
    func known(_ edit: SetupEdit, isToBeUndone: Bool = false) -> SetupEdit {
        var place = place(of: edit)
        if place == nil, isToBeUndone, !edit.name.isEmpty, !edit.isPathChosen {
            place = entries.firstIndex { $0.name == edit.name }
        }
        return place.map { edit.known(by: entries[$0]) } ?? edit
    }

    /// The blocks that were written into text files, each with its path, as far as they are found without marks.
    var blocks: [(ManagedBlock, String)] {
        // A member of JSON has its value as its line.
        entries.filter { !$0.lines.isEmpty && !$0.path.hasSuffix(".json") }.map { entry in
            var block = ManagedBlock(name: entry.name, comment: "#", section: nil, lines: [])
            block.written = entry.lines
            block.rewritten = entry.lines.first { $0.hasPrefix("- name: ") }
            return (block, entry.path)
        }
    }

    /// The setups of programs that only the record knows, with the place of each entry.
    ///
    /// - Parameter names: the programs.
    func setups(of names: Set<String>) -> [(program: String, subject: String, place: String)] {
        entries.flatMap { entry in
            entry.users.compactMap { user in
                let words = user.split(separator: " ", maxSplits: 1).map(String.init)
                guard words.count == 2, names.contains(words[0]) else { return nil }
                return (words[0], words[1], entry.path)
            }
        }
    }

    /// Whether an edit is known.
    func has(_ edit: SetupEdit) -> Bool { place(of: edit) != nil }

    private func place(of edit: SetupEdit) -> Int? {
        entries.firstIndex { $0.path == edit.path && $0.name == edit.name }
    }
}

extension SetupEdit {
    /// The name of the entry, beside other content in the same file.
    fileprivate var name: String {
        switch self {
        case .block(let block, _): block.name
        case .json(let insertion, _): "\(insertion.member) \(insertion.entry)"
        case .member(let member, _): member.name
        case .call(let call): call.name
        case .file, .link: ""
        }
    }

    /// Whether the user chose its file.
    fileprivate var isPathChosen: Bool {
        switch self {
        case .json(let insertion, _): insertion.isPathChosen
        case .member: true
        case .block, .call, .file, .link: false
        }
    }

    /// Whether it changes a text file of the user's.
    fileprivate var isText: Bool {
        switch self {
        case .block, .json, .member: true
        case .file, .link, .call: false
        }
    }

    /// The lines of a block as they are about to be written; `nil` if it is there already.
    fileprivate func lines(in text: String?) -> [String]? {
        if case .member(let member, _) = self { return [member.value] }
        guard case .block(let block, _) = self, text.map({ block.added(to: $0) != $0 }) ?? true else { return nil }
        return block.body(in: text.map { block.removed(from: $0)?.text ?? $0 })
    }

    fileprivate func known(by entry: SetupManifest.Entry) -> SetupEdit {
        switch self {
        case .block(var block, _):
            block.written = entry.lines.isEmpty ? nil : entry.lines
            return .block(block, path: entry.path)
        case .json(var insertion, _):
            (insertion.isKnown, insertion.isMemberOurs) = (true, entry.isMemberOurs)
            return .json(insertion, path: entry.path)
        case .member(var member, _):
            member.written = entry.lines.first
            return .member(member, path: entry.path)
        case .call(var call):
            call.isKnown = true
            return .call(call)
        case .file, .link: return self
        }
    }
}
