import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr setup`.
struct SetupCommand: Command {
    static let spec = CommandSpec(
        ["setup"], "set up another program to use tokens of credmgr",
        details: """
            Writes the program's own configuration, shows the changes, and verifies the setup with one call. \
            --undo with the same arguments removes the changes and keeps the rest. For a program that asks by \
            server, a rule of config.json or the type must name the server. --rule writes the rule.
            """,
        parameters: [program],
        options: [
            SharedOption.type, SharedOption.account, host, rule, dryRun, undo, list, noVerify, roleARN, profile,
            audience, scheme, service, broker, remoteHome, SharedOption.json,
        ],
        examples: [
            .init("git for one server", "credmgr setup git --host git.example.com --type Work --rule"),
            .init("undo the setup", "credmgr setup git --host git.example.com --type Work --rule --undo"),
            .init("list the programs that are set up", "credmgr setup --list"),
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let program = Parameter.optional(
        "program", .any("PROGRAM", .words(SetupRecipe.all.map(\.name))), "the program")
    private static let host = Option.value("host", .any("HOST[:PORT]"), "the server")
    private static let rule = Option.flag(
        "rule", "write a missing rule that lets the token go to the server")
    private static let dryRun = Option.flag("dry-run", "show the changes without writing them")
    private static let undo = Option.flag("undo", "undo the setup")
    private static let list = Option.flag("list", "list the programs that are set up")
    private static let noVerify = Option.flag("no-verify", "do not verify the setup with a call")
    private static let roleARN = Option.value("role-arn", .any("ARN"), "for aws: the role")
    private static let profile = Option.value(
        "profile", .any("NAME"), "for aws: the profile (default: credmgr); for nono: the file")
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
        if arguments.wantsJSON { throw CredentialError(.usage, "--json requires --list") }
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
                .usage, given ?? "PROGRAM is required",
                hint: nearest.map { "did you mean '\($0)'? setup supports \(names.joined(separator: ", "))" }
                    ?? "use one of \(names.joined(separator: ", "))")
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
            hint: "credmgr broker add --help")
    }

    private func list(_ session: CommandSession) throws(CredentialError) {
        let rows = try SetupList(session).rows()
        if arguments.wantsJSON { return try session.print(.array(rows.map(\.json))) }
        if rows.isEmpty { session.notices.note("no program is set up") }
        try session.print(rows.map { "\($0.text)\n" }.joined())
    }

    // MARK: What is asked for

    /// - Returns: `nil` if it is to be undone and there is no entry.
    private func request(_ recipe: SetupRecipe, _ session: CommandSession) throws(CredentialError) -> SetupRequest?
    {
        let programs = session.context.programs
        // By name if the name finds this very program, so that a new version is found.
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
                throw CredentialError(
                    .usage, "--host must be HOST or HOST:PORT, not '\(UntrustedText.shown(host))'")
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
            // The type may be gone, or no longer the only one: the existing entries show which it was.
            request.type = try resolver.namedType(options)
            if request.type == nil, recipe.isByType {
                let types = try SetupList(session).rows().filter { $0.program == recipe.name }.map(\.subject)
                guard let type = types.first else { return nil }
                guard types.count == 1 else {
                    throw CredentialError(
                        .usage, "--type is required",
                        hint: "use one of these types: \(types.joined(separator: ", "))")
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
                throw CredentialError(.usage, "--\(name) has a character that is not valid in configuration files")
            }
            guard !["service", "broker"].contains(name) || Identifier.isValid(value) else {
                throw CredentialError(
                    .usage, "--\(name) must be a name, not '\(UntrustedText.shown(value, limit: 60))'"
                )
            }
            request.values[name] = value
        }
        return request
    }

    // MARK: The rule

    /// The edit that writes the rule for the host, if there is need of one, or removes it.
    ///
    /// - Throws: ``ErrorCode/usage`` if it is missing and not to be written.
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
                .usage, "no rule and no account type names \(host), so credmgr would send no token there",
                hint: "use --rule, or add to config.json: \"rules\": [{\(members)}]")
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

    /// Removes from the plan the entries that the files have already.
    private func leaveWhatIsThere(
        _ plan: inout SetupPlan, _ record: SetupManifest, _ session: CommandSession
    ) throws(CredentialError) {
        var edits: [SetupEdit] = []
        for edit in plan.edits {
            let edit = record.known(edit)
            if let rival = try edit.check(session.context.programs), !record.has(edit) {
                session.notices.note(
                    "\(UntrustedText.shown(edit.path)), line \(rival.line) already has this setting; credmgr does "
                        + "not change the line")
            } else {
                edits.append(edit)
            }
        }
        plan.edits = edits
    }

    /// Writes and proves; on a failure, all is as it was before.
    private func write(
        _ plan: SetupPlan, _ user: String, _ before: SetupManifest, _ session: CommandSession
    ) throws(CredentialError) {
        let programs = session.context.programs
        var record = before, changes = SetupChanges(), isCalled = false
        for edit in plan.edits { try record.add(edit, for: user, programs) }
        // credmgr cannot distinguish its own setting in another program's store from another user's, so the record
        // gets the setting only once it is there.
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
                    if !changes.isEmpty { session.notices.note("reverted the changes") }
                } else {
                    // It is written, but it is no result.
                    session.notices.say(LocalizedMessage(verbatim: String(shown(plan, session).dropLast())))
                    session.notices.note(
                        "the files have changed since, so the setup stays; use --undo to remove its changes")
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
                session.notices.note("kept \(UntrustedText.shown(edit.path)): \(other) also uses it")
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

    /// Undoes the side effects of the call.
    ///
    /// - Parameter tells: whether failures to undo are reported, with the call: not if an error is reported anyway,
    ///   after which there may be no entry.
    private func undo(_ plan: SetupPlan, _ session: CommandSession, tells: Bool) {
        guard let program = plan.undoing.first else { return }
        do throws(CredentialError) {
            let result = try session.context.programs.run(plan.undoing, seconds: Self.proofSeconds)
            if result.exitStatus == 0 || !tells { return }
            session.notices.note("\(program) did not undo its changes (exit status \(result.exitStatus))")
        } catch { session.notices.warning(error) }
        session.notices.note("to undo the changes of the call: \(ShellQuoting.line(plan.undoing))")
    }

    private func sayNothing(_ session: CommandSession) {
        session.notices.note("no changes of this setup were found")
    }

    /// Makes the call.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the program got no token.
    private func prove(_ plan: SetupPlan, _ session: CommandSession) throws(CredentialError) {
        guard !arguments[Self.noVerify], let proof = plan.proof else {
            return session.notices.note("not verified by a call")
        }
        let programs = session.context.programs
        for name in [proof.words[0]] + (proof.refusals == nil ? [] : [proof.program])
        where !programs.isProgram(name) {
            throw CredentialError(
                .inputOutput, "cannot verify the setup: \(name) is not installed",
                hint: "use --no-verify to skip the test call")
        }
        let result = try programs.run(proof.words, seconds: Self.proofSeconds)
        let output = String(decoding: result.output, as: UTF8.self)
        guard proof.isLetIn(output, exitStatus: result.exitStatus) else {
            let end = proof.reason(in: output).map { ": \(UntrustedText.shown($0, limit: 200))" } ?? ""
            throw CredentialError(
                .inputOutput,
                proof.asksForToken
                    ? "the server rejected \(proof.program) with this setup (exit status "
                        + "\(result.exitStatus))\(end)"
                    : "\(proof.program) rejected the setup (exit status \(result.exitStatus))\(end)",
                hint: "use --no-verify to skip the test call")
        }
        session.notices.note(
            !proof.asksForToken
                ? "\(proof.program) accepted the setup"
                : proof.refusals == nil
                    ? "\(proof.program) got a token with this setup"
                    : "the server accepted \(proof.program) with this setup")
    }
}
