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
            audience, scheme, service, broker, remoteHome, SharedOption.json,
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
    private static let profile = Option.value(
        "profile", .any("NAME"), "for aws: the profile, else credmgr; for nono: the file")
    private static let audience = Option.value(
        "audience", .any("AUDIENCE"), "for google: the identity pool's provider")
    private static let scheme = Option.value("scheme", .any("SCHEME"), "for redirect-handler: the scheme")

    private static let service = Option.value("service", .any("SERVICE"), "for sbx: the service")
    private static let broker = Option.value("broker", .any("NAME"), "the broker whose socket is passed on")
    private static let remoteHome = Option.value(
        "remote-home", .any("DIRECTORY"), "for ssh-host: the home directory there")

    private static let proofSeconds = 60

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        if arguments[Self.list] { return try list(session) }
        if arguments.wantsJSON { throw CredentialError(.usage, "--json goes with --list") }
        let recipe = try recipe()
        guard let request = try request(recipe, session) else { return sayNothing(session) }
        if recipe.isForBroker, !request.isUndo { try checkBroker(request, session) }
        let record = try SetupManifest(request, session.context.programs)
        var plan = try recipe.plan(request, session.context.programs)
        if let rule = try rule(recipe, request, record, session) { plan.edits.insert(rule, at: 0) }
        let user =
            if let subject = recipe.subject {
                "\(recipe.name) \(subject(request) ?? "")"
            } else {
                recipe.asksByHost == .always ? "\(recipe.name) \(request.host ?? "")" : recipe.name
            }
        if arguments[Self.undo] { return try takeBack(plan, user, record, session) }
        try leaveWhatIsThere(&plan, record, session)
        let shown = shown(plan, session)
        if arguments[Self.dryRun] { return try session.print(shown) }
        try write(plan, user, record, session)
        try session.print(shown)
        for note in plan.notes { session.notices.note(note) }
    }

    private func recipe() throws(CredentialError) -> SetupRecipe {
        let names = SetupRecipe.all.map(\.name)
        guard let name = arguments[Self.program], let recipe = SetupRecipe.all.first(where: { $0.name == name })
        else {
            let given: LocalizedMessage? = arguments[Self.program].map {
                "no program '\(UntrustedText.shown($0, limit: 40))' to set up"
            }
            let nearest = arguments[Self.program].flatMap { SpellingSuggestion.to($0, among: names) }
            throw CredentialError(
                .usage, given ?? "PROGRAM is missing",
                hint: nearest.map { "did you mean '\($0)'? known are \(names.joined(separator: ", "))" }
                    ?? "known are \(names.joined(separator: ", "))")
        }
        return recipe
    }

    /// Refuses a broker that no file defines.
    ///
    /// - Throws: ``ErrorCode/usage``.
    private func checkBroker(_ request: SetupRequest, _ session: CommandSession) throws(CredentialError) {
        let name = try request.neededBroker()
        let folder = session.context.configurationFile.dropLast("/config.json".count)
        guard try session.context.programs.readFile("\(folder)/brokers/\(name).json") == nil else { return }
        throw CredentialError(
            .usage, "there is no broker \(name)",
            hint: LocalizedMessage(verbatim: "credmgr broker add \(name) --type TYPE --release token"))
    }

    private func list(_ session: CommandSession) throws(CredentialError) {
        let rows = try SetupList(session).rows()
        if arguments.wantsJSON { return try session.print(.array(rows.map(\.json))) }
        if rows.isEmpty { session.notices.note("nothing is set up") }
        try session.print(rows.map { "\($0.text)\n" }.joined())
    }

    // MARK: What is asked for

    /// - Returns: `nil` where it is to be taken back and there is nothing.
    private func request(_ recipe: SetupRecipe, _ session: CommandSession) throws(CredentialError) -> SetupRequest?
    {
        let programs = session.context.programs
        // By name where that means this very program, so that a new version is found.
        let isInPath = programs.isProgram("credmgr") && programs.otherProgram("credmgr") == nil
        var request = SetupRequest(
            environment: session.context.environment, command: isInPath ? "credmgr" : programs.ownPath)
        request.account = arguments[SharedOption.account]
        request.isUndo = arguments[Self.undo]
        request.program = arguments[Self.program] ?? request.program
        if let host = arguments[Self.host] {
            guard let place = DestinationPattern(host), place.description == host.lowercased(),
                !host.hasPrefix("-"),
                host.utf8.allSatisfy({ $0 != 0x22 && $0 != 0x27 && $0 != 0x24 && $0 != 0x60 })
            else {
                throw CredentialError(.usage, "--host takes HOST or HOST:PORT, not '\(UntrustedText.shown(host))'")
            }
            request.host = place.description
        }
        var options = TargetOptions(arguments)
        options.destination = request.host.flatMap { Destination(scheme: "https", authority: $0) }
        let resolver = TargetResolver(session)
        if recipe.isForBroker {
            // The broker's file names the types.
            return try withValues(request)
        }
        if arguments[Self.undo] {
            // The type may be gone, or no longer the only one: what is there says which it was.
            request.type = try resolver.namedType(options)
            if request.type == nil, recipe.isByType {
                let types = try SetupList(session).rows().filter { $0.program == recipe.name }.map(\.subject)
                guard let type = types.first else { return nil }
                guard types.count == 1 else {
                    throw CredentialError(
                        .usage, "--type is missing", hint: "it is set up for \(types.joined(separator: ", "))")
                }
                request.type = type
            }
        } else if let target = try? resolver.target(options) {
            request.type = target.type.name
            request.username = target.account.username
        } else {
            request.type = try resolver.typeName(options)
        }
        return try withValues(request)
    }

    /// The request with the values of the other options.
    private func withValues(_ request: SetupRequest) throws(CredentialError) -> SetupRequest {
        var request = request
        if let role = arguments[Self.roleARN], !arguments[Self.undo] { try AWSCommand.check(role: role) }
        for (name, value) in [
            ("role-arn", arguments[Self.roleARN]), ("profile", arguments[Self.profile]),
            ("audience", arguments[Self.audience]), ("scheme", arguments[Self.scheme]),
            ("service", arguments[Self.service]), ("broker", arguments[Self.broker]),
            ("remote-home", arguments[Self.remoteHome]),
        ] {
            guard let value else { continue }
            guard value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) else {
                throw CredentialError(.usage, "--\(name) holds a character that cannot stand in such files")
            }
            guard !["service", "broker"].contains(name) || Identifier.isValid(value) else {
                throw CredentialError(
                    .usage, "--\(name) takes a name, not '\(UntrustedText.shown(value, limit: 60))'")
            }
            request.values[name] = value
        }
        return request
    }

    // MARK: The rule

    /// The edit that writes the rule for the host, where there is need of one, or takes it out.
    ///
    /// - Throws: ``ErrorCode/usage`` where it is missing and not to be written.
    private func rule(
        _ recipe: SetupRecipe, _ request: SetupRequest, _ record: SetupManifest, _ session: CommandSession
    ) throws(CredentialError) -> SetupEdit? {
        switch recipe.asksByHost {
        case .never: return nil
        case .whereNamed where request.host == nil: return nil
        case .whereNamed, .always: break
        }
        let host = try request.neededHost()
        let path = session.context.configurationFile
        if arguments[Self.undo] { return arguments[Self.rule] ? record.rule(for: host, at: path) : nil }
        let type = try request.neededType()
        var members = "\"host\": \"\(host)\", \"type\": \"\(type)\""
        if let account = request.account { members += ", \"account\": \(JSONValue.string(account).text())" }
        let insertion = JSONInsertion(member: "rules", isArray: true, entry: "{\(members)}")
        let edit = SetupEdit.json(insertion, path: path)
        guard let destination = Destination(scheme: "https", authority: host) else { return nil }
        let target = try TargetResolver(session).target(
            TargetOptions(type: type, account: request.account, destination: destination))
        let ruling = TargetResolver(session).authority.ruling(
            on: destination, type: target.type, account: target.account)
        // A rule that setup has written for another program is for this one, too.
        if case .granted = ruling { return arguments[Self.rule] && record.has(edit) ? edit : nil }
        guard arguments[Self.rule] else {
            if case .refused(let refusal) = ruling, refusal.isOfTrust {
                throw CredentialError(.denied, refusal.text, hint: refusal.advice)
            }
            throw CredentialError(
                .usage, "no rule and no account type names \(host), so no token would go there",
                hint: "add to config.json \"rules\": [{\(members)}], or let setup write it: --rule")
        }
        return edit
    }

    // MARK: Doing and undoing

    private func shown(_ plan: SetupPlan, _ session: CommandSession) -> String {
        plan.edits.map { edit in
            let lines = edit.shown.map(session.shown).map { $0.isEmpty ? "" : "    " + $0 }
            return ([edit.path + ":"] + lines).joined(separator: "\n") + "\n"
        }.joined()
    }

    /// Puts out of the plan what somebody else has written already.
    private func leaveWhatIsThere(
        _ plan: inout SetupPlan, _ record: SetupManifest, _ session: CommandSession
    ) throws(CredentialError) {
        var edits: [SetupEdit] = []
        for edit in plan.edits {
            let edit = record.known(edit)
            if let rival = try edit.check(session.context.programs), !record.has(edit) {
                session.notices.note(
                    "\(UntrustedText.shown(edit.path)), line \(rival.line) says so already, and stays as it is")
            } else {
                edits.append(edit)
            }
        }
        plan.edits = edits
    }

    /// Writes and proves; where that fails, all is as it was before.
    private func write(
        _ plan: SetupPlan, _ user: String, _ before: SetupManifest, _ session: CommandSession
    ) throws(CredentialError) {
        let programs = session.context.programs
        var record = before, changes = SetupChanges(), isCalled = false
        for edit in plan.edits { try record.add(edit, for: user, programs) }
        // What another program keeps cannot be told from another user's: the record has it once it is there.
        let isKeptElsewhere = plan.edits.contains(where: \.isCall)
        if !plan.edits.isEmpty, !isKeptElsewhere { try record.save(programs) }
        do throws(CredentialError) {
            if isKeptElsewhere { try prove(plan, session) }
            for edit in plan.edits { try changes.make(edit, programs) }
            isCalled = true
            if isKeptElsewhere { try record.save(programs) } else { try prove(plan, session) }
        } catch {
            do throws(CredentialError) {
                // Not a unit that was there, and may have been enabled, before.
                if isCalled, !plan.edits.isEmpty, !plan.edits.contains(where: before.has) {
                    undo(plan, session, tells: false)
                }
                if try changes.takeBack(programs) {
                    var rest = before
                    rest.folders = record.folders
                    try rest.saveAndSweep(programs)
                    if !changes.isEmpty { session.notices.note("what was written is taken back") }
                } else {
                    // It is written, but it is no result.
                    session.notices.say(LocalizedMessage(verbatim: String(shown(plan, session).dropLast())))
                    session.notices.note(
                        "it was changed since and is not taken back; --undo takes out what is ours")
                }
            } catch { session.notices.warning(error) }
            throw error
        }
    }

    private func takeBack(
        _ plan: SetupPlan, _ user: String, _ before: SetupManifest, _ session: CommandSession
    ) throws(CredentialError) {
        let isDry = arguments[Self.dryRun]
        var record = before, isAnything = false
        // While the units are still there.
        if !isDry, try isThere(plan, before, session) { undo(plan, session, tells: true) }
        for edit in plan.edits.reversed() {
            let edit = before.known(edit, isToBeUndone: true)
            let others = record.remove(edit, for: user)
            if let other = others.first {
                session.notices.note("\(UntrustedText.shown(edit.path)) stays: it is for \(other), too")
            } else if try edit.undo(session.context.programs, isDry: isDry) {
                try session.print("\(edit.path)\n")
            } else {
                continue
            }
            isAnything = true
        }
        if !isDry { try record.saveAndSweep(session.context.programs) }
        if !isAnything { sayNothing(session) }
    }

    private func isThere(
        _ plan: SetupPlan, _ record: SetupManifest, _ session: CommandSession
    ) throws(CredentialError) -> Bool {
        for edit in plan.edits
        where try record.known(edit, isToBeUndone: true).undo(session.context.programs, isDry: true) { return true }
        return false
    }

    /// Takes back what the call has done besides.
    ///
    /// - Parameter tells: whether it is told what could not be, with the call: not where an error is told anyway, after which there
    ///   may be nothing.
    private func undo(_ plan: SetupPlan, _ session: CommandSession, tells: Bool) {
        guard let program = plan.undoing.first else { return }
        do throws(CredentialError) {
            let result = try session.context.programs.run(plan.undoing, seconds: Self.proofSeconds)
            if result.exitStatus == 0 || !tells { return }
            session.notices.note("\(program) has not taken back what it did (exit status \(result.exitStatus))")
        } catch { session.notices.warning(error) }
        session.notices.note("to have it taken back: \(ShellQuoting.line(plan.undoing))")
    }

    private func sayNothing(_ session: CommandSession) { session.notices.note("nothing of this was set up") }

    /// Makes the call.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` where the program got no token.
    private func prove(_ plan: SetupPlan, _ session: CommandSession) throws(CredentialError) {
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
            let end = proof.reason(in: output).map { ": \(UntrustedText.shown($0, limit: 200))" } ?? ""
            throw CredentialError(
                .inputOutput,
                proof.asksForToken
                    ? "\(proof.program) was not let in with it (exit status \(result.exitStatus))\(end)"
                    : "\(proof.program) has not taken it (exit status \(result.exitStatus))\(end)",
                hint: "--no-verify makes no call")
        }
        session.notices.note(
            !proof.asksForToken
                ? "\(proof.program) has taken it"
                : proof.refusals == nil
                    ? "\(proof.program) got a token with it" : "\(proof.program) was let in with it")
    }
}
