import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr setup`.
struct SetupCommand: Command {
    static let spec = CommandSpec(
        ["setup"], "have another program take its tokens here",
        details: """
            Writes the program's own configuration, shows what it writes, and proves it by one call. --undo, with the \
            same arguments, takes out what was written and leaves the rest as it is. For a program that asks by \
            server, a rule of config.json or the type must name that; --rule writes the rule.
            """,
        parameters: [program],
        options: [
            SharedOption.type, SharedOption.account, host, rule, dryRun, undo, list, noVerify, roleARN, profile,
            audience, scheme,
        ],
        examples: [
            .init("git for one server", "credmgr setup git --host git.example.com --type Work --rule"),
            .init("take it back", "credmgr setup git --host git.example.com --type Work --rule --undo"),
            .init("what is set up where", "credmgr setup --list"),
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let program = Parameter.optional(
        "program", .any("PROGRAM", .words(SetupRecipe.all.map(\.name))), "the program")
    private static let host = Option.value("host", .any("HOST[:PORT]"), "the server")
    private static let rule = Option.flag(
        "rule", "write the rule that lets the token go there, where it is missing")
    private static let dryRun = Option.flag("dry-run", "show what would be written, and write nothing")
    private static let undo = Option.flag("undo", "take it back")
    private static let list = Option.flag("list", "show what is set up where")
    private static let noVerify = Option.flag("no-verify", "make no call to prove it")
    private static let roleARN = Option.value("role-arn", .any("ARN"), "for aws: the role")
    private static let profile = Option.value("profile", .any("NAME"), "for aws: the profile, else credmgr")
    private static let audience = Option.value(
        "audience", .any("AUDIENCE"), "for google: the identity pool's provider")
    private static let scheme = Option.value("scheme", .any("SCHEME"), "for redirect-handler: the scheme")

    private static let proofSeconds = 60

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        if arguments[Self.list] { return try SetupList(session).print() }
        let names = SetupRecipe.all.map(\.name)
        guard let name = arguments[Self.program], let recipe = SetupRecipe.all.first(where: { $0.name == name })
        else {
            let given: Message? = arguments[Self.program].map {
                "no program '\(ForeignText.shown($0, limit: 40))' to set up"
            }
            let nearest = arguments[Self.program].flatMap { NearestWord.to($0, among: names) }
            throw CredentialError(
                .usage, given ?? "PROGRAM is missing",
                hint: nearest.map { "did you mean '\($0)'? known are \(names.joined(separator: ", "))" }
                    ?? "known are \(names.joined(separator: ", "))")
        }
        let request = try request(session)
        var plan = try recipe.plan(request, session.context.programs)
        if let rule = try missingRule(recipe, request, session) { plan.edits.insert(rule, at: 0) }
        if arguments[Self.undo] { return try takeBack(plan, session) }
        for edit in plan.edits { try edit.check(session.context.programs) }
        let shown = shown(plan, session)
        if arguments[Self.dryRun] { return try session.print(shown) }
        for edit in plan.edits { try edit.apply(session.context.programs) }
        do throws(CredentialError) { try prove(plan, session) } catch {
            // It is written, but it is no result.
            session.notices.say(Message(verbatim: String(shown.dropLast())))
            throw error
        }
        try session.print(shown)
        for note in plan.notes { session.notices.note(note) }
    }

    // MARK: What is asked for

    private func request(_ session: Session) throws(CredentialError) -> SetupRequest {
        let programs = session.context.programs
        // By name where that means this very program, so that a new version is found.
        let isInPath = programs.isProgram("credmgr") && programs.otherProgram("credmgr") == nil
        var request = SetupRequest(
            environment: session.context.environment, command: isInPath ? "credmgr" : programs.ownPath)
        request.account = arguments[SharedOption.account]
        if let host = arguments[Self.host] {
            guard let place = RulePlace(host), place.description == host.lowercased(), !host.hasPrefix("-"),
                host.utf8.allSatisfy({ $0 != 0x22 && $0 != 0x27 && $0 != 0x24 && $0 != 0x60 })
            else {
                throw CredentialError(.usage, "--host takes HOST or HOST:PORT, not '\(ForeignText.shown(host))'")
            }
            request.host = place.description
        }
        var options = TargetOptions(arguments)
        options.destination = request.host.flatMap { Destination(scheme: "https", authority: $0) }
        let resolver = TargetResolver(session)
        if !arguments[Self.undo], let target = try? resolver.target(options) {
            request.type = target.type.name
            request.username = target.account.username
        } else {
            request.type = try resolver.typeName(options)
        }
        for (name, value) in [
            ("role-arn", arguments[Self.roleARN]), ("profile", arguments[Self.profile]),
            ("audience", arguments[Self.audience]), ("scheme", arguments[Self.scheme]),
        ] {
            guard let value else { continue }
            guard value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) else {
                throw CredentialError(.usage, "--\(name) holds a character that cannot stand in such files")
            }
            request.values[name] = value
        }
        return request
    }

    // MARK: The rule

    /// The edit that writes the rule for the host, where there is need of one.
    ///
    /// - Throws: ``ErrorCode/usage`` where it is missing and not to be written.
    private func missingRule(
        _ recipe: SetupRecipe, _ request: SetupRequest, _ session: Session
    ) throws(CredentialError) -> SetupEdit? {
        switch recipe.asksByHost {
        case .never: return nil
        case .whereNamed where request.host == nil: return nil
        case .whereNamed, .always: break
        }
        let host = try request.neededHost()
        let type = try request.neededType()
        var members = "\"host\": \"\(host)\", \"type\": \"\(type)\""
        if let account = request.account { members += ", \"account\": \(JSONValue.string(account).text())" }
        let insertion = JSONInsertion(member: "rules", isArray: true, entry: "{\(members)}")
        let edit = SetupEdit.json(insertion, path: session.context.configurationFile)
        if arguments[Self.undo] { return arguments[Self.rule] ? edit : nil }
        guard let destination = Destination(scheme: "https", authority: host) else { return nil }
        let target = try TargetResolver(session).target(
            TargetOptions(type: type, account: request.account, destination: destination))
        let ruling = TargetResolver(session).authority.ruling(
            on: destination, type: target.type, account: target.account)
        if case .granted = ruling { return nil }
        guard arguments[Self.rule] else {
            throw CredentialError(
                .usage, "no rule and no account type names \(host), so no token would go there",
                hint: "add to config.json \"rules\": [{\(members)}], or let setup write it: --rule")
        }
        return edit
    }

    // MARK: Doing and undoing

    private func shown(_ plan: SetupPlan, _ session: Session) -> String {
        plan.edits.map { edit in
            let lines = edit.shown.map(session.shown).map { $0.isEmpty ? "" : "    " + $0 }
            return ([edit.path + ":"] + lines).joined(separator: "\n") + "\n"
        }.joined()
    }

    private func takeBack(_ plan: SetupPlan, _ session: Session) throws(CredentialError) {
        var isAnything = false
        for edit in plan.edits.reversed() {
            if arguments[Self.dryRun] {
                try session.print("\(edit.path)\n")
            } else if try edit.undo(session.context.programs) {
                isAnything = true
                try session.print("\(edit.path)\n")
            }
        }
        if !isAnything, !arguments[Self.dryRun] { session.notices.note("nothing of this was set up") }
    }

    /// Makes the call.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` where the program got no token.
    private func prove(_ plan: SetupPlan, _ session: Session) throws(CredentialError) {
        guard !arguments[Self.noVerify], let proof = plan.proof else {
            return session.notices.note("not proven by a call")
        }
        let programs = session.context.programs
        for name in [proof.words[0]] + (proof.refusals == nil ? [] : [proof.program])
        where !programs.isProgram(name) {
            throw CredentialError(
                .inputOutput, "\(name) is not installed, so the setup is not proven",
                hint: "--no-verify makes no call")
        }
        let result = try programs.run(proof.words, seconds: Self.proofSeconds)
        let output = String(decoding: result.output, as: UTF8.self)
        guard proof.isLetIn(output, exitStatus: result.exitStatus) else {
            let end = proof.reason(in: output).map { ": \(ForeignText.shown($0, limit: 200))" } ?? ""
            throw CredentialError(
                .inputOutput, "\(proof.program) was not let in with it (exit status \(result.exitStatus))\(end)",
                hint: "the configuration is written; take it back with --undo")
        }
        session.notices.note(
            "\(proof.program) \(proof.refusals == nil ? "got a token with it" : "was let in with it")")
    }
}

/// `credmgr setup --list`.
private struct SetupList {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// Prints what is set up: the program and what for, and the file.
    func print() throws(CredentialError) {
        let programs = session.context.programs
        var rows: [String] = []
        for recipe in SetupRecipe.all {
            var request = SetupRequest(environment: session.context.environment, command: "credmgr")
            request.type = "TYPE"
            request.host = "localhost"
            request.values = ["role-arn": "ARN", "audience": "AUDIENCE", "scheme": "SCHEME"]
            guard let plan = try? recipe.plan(request, programs) else { continue }
            for edit in plan.edits {
                if case .link = edit { continue }
                guard let bytes = try programs.readFile(edit.path) else { continue }
                let text = String(decoding: bytes, as: UTF8.self)
                switch edit {
                case .block:
                    for name in ManagedBlock.names(in: text) {
                        rows.append("\(ForeignText.shown(name))\t\(edit.path)\n")
                    }
                case .json(let insertion, _):
                    let members = (try? JSONValue.parse(bytes, dialect: .commented))?.object?[insertion.member]?
                        .object
                    for (name, value) in members?.members ?? [] where value == "credmgr" {
                        rows.append("\(recipe.name) \(ForeignText.shown(name))\t\(edit.path)\n")
                    }
                case .file:
                    if text.contains(SetupEdit.mark) { rows.append("\(recipe.name)\t\(edit.path)\n") }
                case .link: continue
                }
            }
        }
        rows += try ownFiles() + named("redirect-handler", in: "applications", "credmgr-redirect-", ".desktop")
        rows += try named("token-socket", in: "systemd/user", "credmgr-token-", ".socket")
        var seen: Set<String> = []
        let distinct = rows.filter { seen.insert($0).inserted }
        if distinct.isEmpty { session.notices.note("nothing is set up") }
        try session.print(distinct.joined())
    }

    /// Files of our own whose names hold the type.
    private func ownFiles() throws(CredentialError) -> [String] {
        let folder = String(session.context.configurationFile.dropLast("/config.json".count))
        return try session.context.typeFiles.names(in: folder).sorted().compactMap { name in
            if name.hasPrefix("google-") { return "google \(name.dropFirst(7).dropLast(5))\t\(folder)/\(name)\n" }
            return nil
        }
    }

    /// Files whose names hold what they are for: a scheme, a type.
    private func named(
        _ program: String, in folder: String, _ prefix: String, _ suffix: String
    ) throws(CredentialError) -> [String] {
        let request = SetupRequest(environment: session.context.environment, command: "credmgr")
        let folder = (folder == "applications" ? request.dataHome : request.configHome) + "/" + folder
        return try session.context.typeFiles.names(in: folder).sorted().compactMap { name in
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            let what = name.dropFirst(prefix.count).dropLast(suffix.count)
            return "\(program) \(ForeignText.shown(String(what)))\t\(folder)/\(name)\n"
        }
    }
}
