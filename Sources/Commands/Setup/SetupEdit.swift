import CredentialCore

/// One change of the user's files that can be taken back.
enum SetupEdit: Sendable {
    /// Lines in a text file.
    case block(ManagedBlock, path: String)
    /// An entry in a JSON file.
    case json(JSONInsertion, path: String)
    /// A member with a plain value in a JSON file.
    case member(JSONMember, path: String)
    /// A setting in another program's store.
    case call(SetupCall)
    /// A file of our own.
    case file(String, path: String, isProgram: Bool)
    /// A link to this program.
    case link(path: String)

    /// The file or link.
    var path: String {
        switch self {
        case .block(_, let path), .json(_, let path), .member(_, let path), .file(_, let path, _), .link(let path):
            path
        case .call(let call): call.name
        }
    }

    /// Whether it is a program.
    var isProgram: Bool { if case .file(_, _, let isProgram) = self { isProgram } else { false } }

    /// Whether another program keeps the setting.
    var isCall: Bool { if case .call = self { true } else { false } }

    /// The preview of the edit, for `--dry-run` and the user.
    var shown: [LocalizedMessage] {
        switch self {
        case .block(let block, _):
            ((block.section.map { [$0] } ?? []) + block.lines).map(LocalizedMessage.init(verbatim:))
        case .json(let insertion, _): [LocalizedMessage(verbatim: "\"\(insertion.member)\": … \(insertion.entry)")]
        case .member(let member, _): [LocalizedMessage(verbatim: "\"\(member.name)\": \(member.value)")]
        case .call(let call): [LocalizedMessage(verbatim: ShellQuoting.line(call.making))]
        case .file(let text, _, _):
            text.split(separator: "\n", omittingEmptySubsequences: false).map {
                LocalizedMessage(verbatim: String($0))
            }
        case .link: ["a symbolic link to credmgr"]
        }
    }

    /// Whether the change can be made.
    ///
    /// - Returns: an entry by another author with the same effect, so that no change is needed; else `nil`.
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/configuration`` for a file that is not ours, or is not
    ///   valid, and for a conflicting entry by another author.
    func check(_ programs: any ProcessPort) throws(CredentialError) -> ConflictingEntry? {
        if case .link(let path) = self {
            guard programs.linkTarget(path) != nil || programs.isThere(path), !Self.isOwnLink(path, programs) else {
                return nil
            }
            throw Self.isTaken(path)
        }
        if case .call(let call) = self {
            try call.check(programs)
            return nil
        }
        let text = try Self.text(path, programs)
        switch self {
        case .member(let member, let path):
            if let rival = text.flatMap(member.rival) {
                return try Self.judged(rival, path, wanted: "\"\(member.name)\": \(member.value)")
            }
            do throws(CredentialError) { _ = try member.added(to: text) } catch {
                throw CredentialError(error.code, "\(UntrustedText.shown(path)): \(error)")
            }
            return nil
        case .block(let block, let path):
            return try text.flatMap(block.rival).map { (rival) throws(CredentialError) in
                try Self.judged(rival, path, wanted: block.lines.count == 1 ? block.lines.first : nil)
            }
        case .json(let insertion, let path):
            do throws(CredentialError) { _ = try insertion.added(to: text) } catch {
                throw CredentialError(error.code, "\(UntrustedText.shown(path)): \(error)")
            }
            let rival = text.flatMap(insertion.rival)
            return try rival.map { (rival) throws(CredentialError) in
                try Self.judged(rival, path, wanted: insertion.entry)
            }
        case .file(let wanted, let path, _):
            guard let text, text != wanted, !text.contains(Self.mark) else { return nil }
            throw Self.isTaken(path)
        case .link, .call: return nil
        }
    }

    private static func isTaken(_ path: String) -> CredentialError {
        CredentialError(
            .configuration, "\(UntrustedText.shown(path)) already exists and was not made by credmgr",
            hint: "move the file away first")
    }

    private static func judged(
        _ rival: ConflictingEntry, _ path: String, wanted: String?
    ) throws(CredentialError) -> ConflictingEntry {
        guard !rival.isSame else { return rival }
        throw CredentialError(
            .configuration,
            "\(UntrustedText.shown(path)), line \(rival.line) has a different setting: "
                + "\(UntrustedText.shown(rival.text, limit: 120))",
            hint: wanted.map { "remove that line first, or change it to: \($0)" } ?? "remove that setting first")
    }

    /// Whether a link is one that `setup` has made.
    static func isOwnLink(_ path: String, _ programs: any ProcessPort) -> Bool {
        guard let target = programs.linkTarget(path) else { return false }
        return target == programs.ownPath || target.hasPrefix("/") && target.hasSuffix("/credmgr")
    }

    /// Makes the change; one that is there stays.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``.
    func apply(_ programs: any ProcessPort) throws(CredentialError) {
        switch self {
        case .block(let block, let path):
            let text = try Self.text(path, programs)
            try programs.replaceFile(path, Array(block.added(to: text).utf8), isProgram: false)
        case .json(let insertion, let path):
            let text = try Self.text(path, programs)
            let changed = try insertion.added(to: text)
            if changed != text { try programs.replaceFile(path, Array(changed.utf8), isProgram: false) }
        case .member(let member, let path):
            let text = try Self.text(path, programs)
            let changed = try member.added(to: text)
            if changed != text { try programs.replaceFile(path, Array(changed.utf8), isProgram: false) }
        case .call(let call): try call.make(programs)
        case .file(let text, let path, let isProgram):
            try programs.replaceFile(path, Array(text.utf8), isProgram: isProgram)
        case .link(let path): try programs.link(path, to: programs.ownPath)
        }
    }

    /// Undoes the change; an entry that is not there, or is no longer ours, stays.
    ///
    /// - Parameter isDry: whether it is only looked up.
    /// - Returns: whether there was something to take back.
    /// - Throws: ``ErrorCode/inputOutput``.
    func undo(_ programs: any ProcessPort, isDry: Bool) throws(CredentialError) -> Bool {
        if case .link = self {
            guard Self.isOwnLink(path, programs) else { return false }
            if !isDry { try programs.removeFile(path) }
            return true
        }
        if case .call(let call) = self {
            guard call.isKnown, try call.isThere(programs) else { return false }
            if !isDry { try call.remove(programs) }
            return true
        }
        guard let text = try Self.text(path, programs) else { return false }
        let rest: ManagedBlock.Remainder? =
            switch self {
            case .block(let block, _): block.removed(from: text)
            case .json(let insertion, _): insertion.isKnown ? insertion.removed(from: text) : nil
            case .member(let member, _): member.removed(from: text)
            case .file: text.contains(Self.mark) ? .init(text: "", isFileOurs: true) : nil
            case .link, .call: nil
            }
        guard let rest else { return false }
        if isDry { return true }
        if rest.text.isEmpty, rest.isFileOurs {
            try programs.removeFile(path)
        } else {
            try programs.replaceFile(path, Array(rest.text.utf8), isProgram: false)
        }
        return true
    }

    /// The mark in a file of our own.
    static let mark = "made by credmgr setup"

    /// The text of a file; `nil` if it does not exist.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/configuration`` for a file that is not UTF-8.
    static func text(_ path: String, _ programs: any ProcessPort) throws(CredentialError) -> String? {
        guard let bytes = try programs.readFile(path) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CredentialError(.configuration, "\(UntrustedText.shown(path)) is not UTF-8")
        }
        return text
    }
}

/// The changes of a call, to be reverted if the call fails.
struct SetupChanges {
    /// The state of a path: the bytes of a file, or the target of a link.
    private struct State: Equatable {
        var bytes: [UInt8]?
        var link: String?
        var isSet = false

        init(_ edit: SetupEdit, _ programs: any ProcessPort) throws(CredentialError) {
            switch edit {
            case .link: link = programs.linkTarget(edit.path)
            case .call(let call): isSet = try call.isThere(programs)
            case .block, .json, .member, .file: bytes = try programs.readFile(edit.path)
            }
        }
    }

    private var steps: [(edit: SetupEdit, before: State, after: State)] = []

    /// Whether there was no change.
    var isEmpty: Bool { steps.isEmpty }

    /// Makes a change.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``.
    mutating func make(_ edit: SetupEdit, _ programs: any ProcessPort) throws(CredentialError) {
        let before = try State(edit, programs)
        try edit.apply(programs)
        let after = try State(edit, programs)
        if after != before { steps.append((edit, before, after)) }
    }

    /// Makes all as it was.
    ///
    /// - Returns: `false` if something has been changed since: then the files stay.
    /// - Throws: ``ErrorCode/inputOutput``.
    func takeBack(_ programs: any ProcessPort) throws(CredentialError) -> Bool {
        for step in steps where try State(step.edit, programs) != step.after { return false }
        for step in steps.reversed() {
            if case .call(let call) = step.edit {
                try call.remove(programs)
            } else if let link = step.before.link {
                try programs.link(step.edit.path, to: link)
            } else if let bytes = step.before.bytes {
                try programs.replaceFile(step.edit.path, bytes, isProgram: step.edit.isProgram)
            } else {
                try programs.removeFile(step.edit.path)
            }
        }
        return true
    }
}
