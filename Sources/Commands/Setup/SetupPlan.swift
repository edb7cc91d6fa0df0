import CredentialCore

/// What `setup` does for one program: its edits, the call that proves them, and what a person has to know.
struct SetupPlan: Sendable {
    /// The edits, in order.
    var edits: [SetupEdit]
    /// The call of the program; `nil` where none can be made without a server or a desktop.
    var proof: Proof?
    /// What to do besides, and what is not proven.
    var notes: [Message] = []

    /// A call, and how its output tells whether the program was let in.
    struct Proof: Sendable {
        /// The program, for messages.
        let program: String
        /// The words of the call.
        let words: [String]
        /// What the output holds when the program was let in, one of them; empty where the exit status tells.
        var output: [String] = []
        /// For a call that asks a server for what is not there, and fails when it was let in: what the output holds when
        /// it was not, or when the server was not reached.
        var refusals: [String]?

        /// How programs tell of the answers 401 and 403.
        static let refused = [" 401", " 403", "E401", "E403", "nauthorized", "orbidden", "denied"]

        /// Whether the program was let in.
        func isLetIn(_ text: String, exitStatus: Int32) -> Bool {
            let isSaid = output.isEmpty || output.contains { text.contains($0) }
            guard let refusals else { return exitStatus == 0 && isSaid }
            return (exitStatus == 0 || isSaid && !output.isEmpty) && !refusals.contains { text.contains($0) }
        }

        /// The line of the output that says why it was not let in: that of a refusal, else the last.
        func reason(in text: String) -> String? {
            let lines = text.split(whereSeparator: \.isNewline).filter { $0.contains { !$0.isWhitespace } }
            let told = lines.first { line in refusals?.contains { line.contains($0) } ?? false }
            return (told ?? lines.last).map { String($0.hasSuffix(".") ? $0.dropLast() : $0) }
        }
    }
}

/// One change of the user's files that can be taken back.
enum SetupEdit: Sendable {
    /// Lines in a text file.
    case block(ManagedBlock, path: String)
    /// An entry in a JSON file.
    case json(JSONInsertion, path: String)
    /// A file of our own.
    case file(String, path: String, isProgram: Bool)
    /// A link to this program.
    case link(path: String)

    /// The file or link.
    var path: String {
        switch self {
        case .block(_, let path), .json(_, let path), .file(_, let path, _), .link(let path): path
        }
    }

    /// What it will look like, for `--dry-run` and the user.
    var shown: [Message] {
        switch self {
        case .block(let block, _):
            ((block.section.map { [$0] } ?? []) + block.lines).map(Message.init(verbatim:))
        case .json(let insertion, _): [Message(verbatim: "\"\(insertion.member)\": … \(insertion.entry)")]
        case .file(let text, _, _):
            text.split(separator: "\n", omittingEmptySubsequences: false).map { Message(verbatim: String($0)) }
        case .link: ["a link to credmgr"]
        }
    }

    /// Whether the change can be made.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/configuration`` for a file that is not ours, or not what it should
    ///   be.
    func check(_ programs: any Programs) throws(CredentialError) {
        if case .link(let path) = self {
            guard programs.linkTarget(path) == nil, programs.isThere(path) else { return }
            throw CredentialError(
                .configuration, "\(ForeignText.shown(path)) is there already and is not credmgr's",
                hint: "move it away first")
        }
        let text = try Self.text(path, programs)
        switch self {
        case .block, .link: break
        case .json(let insertion, let path):
            do throws(CredentialError) { _ = try insertion.added(to: text) } catch {
                throw CredentialError(error.code, "\(ForeignText.shown(path)): \(error)")
            }
        case .file(let wanted, let path, _):
            guard let text, text != wanted, !text.contains(Self.mark) else { return }
            throw CredentialError(
                .configuration, "\(ForeignText.shown(path)) is there already and is not credmgr's",
                hint: "move it away first")
        }
    }

    /// Makes the change; one that is there stays.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``.
    func apply(_ programs: any Programs) throws(CredentialError) {
        switch self {
        case .block(let block, let path):
            let text = try Self.text(path, programs)
            try programs.replaceFile(path, Array(block.added(to: text).utf8), isProgram: false)
        case .json(let insertion, let path):
            let text = try Self.text(path, programs)
            let changed = try insertion.added(to: text)
            if changed != text { try programs.replaceFile(path, Array(changed.utf8), isProgram: false) }
        case .file(let text, let path, let isProgram):
            try programs.replaceFile(path, Array(text.utf8), isProgram: isProgram)
        case .link(let path): try programs.link(path, to: programs.ownPath)
        }
    }

    /// Takes the change back; what is not there, or is no longer ours, stays.
    ///
    /// - Returns: whether there was something to take back.
    /// - Throws: ``ErrorCode/inputOutput``.
    func undo(_ programs: any Programs) throws(CredentialError) -> Bool {
        if case .link = self {
            guard let target = programs.linkTarget(path), target.hasSuffix("credmgr") else { return false }
            try programs.removeFile(path)
            return true
        }
        guard let text = try Self.text(path, programs) else { return false }
        switch self {
        case .block(let block, let path): return try put(block.removed(from: text), path, programs)
        case .json(let insertion, let path): return try put(insertion.removed(from: text), path, programs)
        case .file(_, let path, _):
            guard text.contains(Self.mark) else { return false }
            try programs.removeFile(path)
            return true
        case .link: return false
        }
    }

    /// What a file of our own has in it.
    static let mark = "made by credmgr setup"

    private func put(
        _ rest: ManagedBlock.Remainder?, _ path: String, _ programs: any Programs
    ) throws(CredentialError) -> Bool {
        guard let rest else { return false }
        if rest.text.isEmpty, rest.isFileOurs {
            try programs.removeFile(path)
        } else {
            try programs.replaceFile(path, Array(rest.text.utf8), isProgram: false)
        }
        return true
    }

    private static func text(_ path: String, _ programs: any Programs) throws(CredentialError) -> String? {
        guard let bytes = try programs.readFile(path) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CredentialError(.configuration, "\(ForeignText.shown(path)) is not UTF-8")
        }
        return text
    }
}
