import CredentialCore
import StrictJSON

/// The programs that are set up, and the files: `credmgr setup --list`.
struct SetupList {
    /// A program, the subject of its setup, and the file.
    struct Row: Hashable {
        /// The program.
        let program: String
        /// A server, a type, a profile, a scheme; empty if there is only one.
        let subject: String
        /// The file.
        let path: String

        /// One line.
        var text: String {
            let what = subject.isEmpty ? program : "\(program) \(UntrustedText.shown(subject))"
            return "\(UntrustedText.shown(what))\t\(path)"
        }

        /// For programs.
        var json: JSONValue {
            ["program": .string(program), "for": JSONValue(subject.isEmpty ? nil : subject), "file": .string(path)]
        }
    }

    private let session: CommandSession
    private let request: SetupRequest
    private var programs: any ProcessPort { session.context.programs }

    init(_ session: CommandSession) {
        self.session = session
        var request = SetupRequest(environment: session.context.environment, command: "credmgr")
        request.type = "TYPE"
        request.host = "localhost"
        request.values = ["role-arn": "ARN", "audience": "AUDIENCE", "scheme": "SCHEME"]
        self.request = request
    }

    /// Returns the programs that are set up.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/configuration``.
    func rows() throws(CredentialError) -> [Row] {
        var rows: [Row] = []
        for recipe in SetupRecipe.all where recipe.subject == nil {
            guard let plan = try? recipe.plan(request, programs) else { continue }
            for edit in plan.edits {
                if case .link = edit { continue }
                guard let bytes = try programs.readFile(edit.path) else { continue }
                let text = String(decoding: bytes, as: UTF8.self)
                switch edit {
                case .block: rows += ManagedBlock.names(in: text).map { Self.row($0, edit.path) }
                case .json(let insertion, _):
                    let members = (try? JSONValue.parse(bytes, dialect: .commented))?.object?[insertion.member]?
                        .object
                    for (name, value) in members?.members ?? [] where value == "credmgr" {
                        rows.append(Row(program: recipe.name, subject: name, path: edit.path))
                    }
                case .file:
                    // One whose name holds the type or the scheme is found by its name.
                    if text.contains(SetupEdit.mark), !recipe.isByType {
                        rows.append(Row(program: recipe.name, subject: "", path: edit.path))
                    }
                case .member, .call, .link: continue
                }
            }
        }
        let recorded = Set(SetupRecipe.all.filter { $0.subject != nil }.map(\.name))
        let manifest = try SetupManifest(request, programs)
        for (program, subject, place) in manifest.setups(of: recorded)
        where !place.hasPrefix("/") || programs.isThere(place) {
            rows.append(Row(program: program, subject: subject, path: place))
        }
        // The record also finds blocks whose marks a program has dropped, and files that variables name at other
        // times.
        for (block, path) in manifest.blocks
        where !recorded.contains(block.name.split(separator: " ").first.map(String.init) ?? "") {
            guard let text = try SetupEdit.text(path, programs), block.removed(from: text) != nil else { continue }
            rows.append(Self.row(block.name, path))
        }
        let configuration = String(session.context.configurationFile.dropLast("/config.json".count))
        rows += try named("google", in: configuration, "google-", ".json")
        rows += try named(
            "redirect-handler", in: request.dataHome + "/applications", "credmgr-redirect-", ".desktop")
        rows += try named("token-socket", in: request.configHome + "/systemd/user", "credmgr-token-", ".socket")
        var seen: Set<Row> = []
        return rows.filter { seen.insert($0).inserted }
    }

    /// Returns the row that a block's name describes.
    private static func row(_ name: String, _ path: String) -> Row {
        let words = name.split(separator: " ", maxSplits: 1).map(String.init)
        return Row(program: words.first ?? name, subject: words.count == 2 ? words[1] : "", path: path)
    }

    /// Files whose names contain their subject: a scheme, a type.
    private func named(
        _ program: String, in folder: String, _ prefix: String, _ suffix: String
    ) throws(CredentialError) -> [Row] {
        try session.context.typeFiles.names(in: folder).sorted().compactMap { name in
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            let subject = String(name.dropFirst(prefix.count).dropLast(suffix.count))
            return Row(program: program, subject: subject, path: "\(folder)/\(name)")
        }
    }
}
