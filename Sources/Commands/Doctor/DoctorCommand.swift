import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr doctor`.
struct DoctorCommand: Command {
    static let spec = CommandSpec(
        ["doctor"], "check the installation and suggest fixes",
        details: """
            Checks the session bus, the stores and whether they are locked, registries and secrets, files and \
            their modes, locks, the token cache, the clock, account types and, with --online, their endpoints. It \
            exits with 0 if it finds no problem and with 1 otherwise.

            With --fix, it prompts before each repair. It recovers accounts from secrets without a registry entry, \
            marks accounts without secrets, removes copies that a migration left, removes permissions of other \
            users from files, and removes files of killed processes.
            """,
        options: [online, fix, yes, report, SharedOption.json],
        examples: [.init("check, and repair the problems", "credmgr doctor --fix")])

    private static let online = Option.flag("online", "also check the endpoints of the account types")
    private static let fix = Option.flag("fix", "repair problems, with a prompt before each repair")
    private static let yes = Option.flag("yes", "repair without prompts")
    private static let report = Option.flag("report", "print a report for a bug report, without names and secrets")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    /// The checks, in the order they are shown. A further part of the program adds its own here.
    static let checks: [any DoctorCheck] = [
        ConfigurationCheck(), StoreCheck(), SharedGroupCheck(), RegistryCheck(), AccountCheck(),
        StoredSecretCheck(), FolderCheck(),
        MachineCheck(),
        TypeCheck(),
        AdapterCheck(),
    ]

    func run(_ session: CommandSession) throws(CredentialError) {
        var findings = check(session)
        if arguments[Self.fix] {
            guard arguments[Self.yes] || session.mayAsk else {
                throw CredentialError(.usage, "--fix without a terminal requires --yes")
            }
            if try repair(findings, session) { findings = check(session) }
        }
        try print(findings, session)
        let problems = findings.count { $0.state == .problem }
        guard problems > 0 else { return }
        let isRepairable = findings.contains { $0.state == .problem && $0.repair != nil }
        throw CredentialError(
            .problemsFound, "\(problems, one: "\(problems) problem", other: "\(problems) problems") found",
            hint: isRepairable && !arguments[Self.fix]
                ? LocalizedMessage(verbatim: "credmgr doctor --fix" + (session.mayAsk ? "" : " --yes")) : nil)
    }

    private func check(_ session: CommandSession) -> [Diagnostic] {
        var found: [Diagnostic] = []
        var told: Set<[String]> = []
        for check in Self.checks {
            // A problem that an earlier check has reported is not a further problem.
            let more = check.findings(session, isOnline: arguments[Self.online])
                .filter { finding in finding.repair != nil || finding.cause.map(told.contains) != true }
            told.formUnion(more.compactMap(\.cause))
            found += more
        }
        return found
    }

    /// Makes the repairs that the user agrees to.
    ///
    /// - Returns: whether anything was tried.
    private func repair(_ findings: [Diagnostic], _ session: CommandSession) throws(CredentialError) -> Bool {
        var hasTried = false
        for finding in findings {
            guard let repair = finding.repair else { continue }
            if !arguments[Self.yes] {
                session.notices.say("\(finding.check): \(finding.message)")
                let answer = try session.context.console.ask("  \(repair.action)? [y/N] ", isSecret: false).reveal()
                guard answer == "y" || answer == "Y" || answer == "yes" else { continue }
            }
            hasTried = true
            do throws(CredentialError) {
                try repair.run()
                session.notices.note("\(finding.check): \(repair.action): done")
            } catch {
                session.notices.warning("\(finding.check): \(repair.action): \(error)")
            }
        }
        return hasTried
    }

    private func print(_ findings: [Diagnostic], _ session: CommandSession) throws(CredentialError) {
        if arguments[Self.report] {
            return try session.print(DoctorReport(session).text(findings))
        }
        if arguments.wantsJSON {
            return try session.print([
                "ok": .bool(!findings.contains { $0.state == .problem }),
                "version": .string(Program.version),
                "checks": .array(findings.map(\.json)),
            ])
        }
        for finding in findings {
            let mark =
                switch finding.state {
                case .ok: "ok     "
                case .note: "note   "
                case .problem: "PROBLEM"
                }
            try session.print(
                "\(mark)  \(finding.check): \(UntrustedText.shown(session.shown(finding.message), limit: 2_000))\n")
            if finding.state != .ok, let remedy = finding.remedy {
                try session.print("           \(UntrustedText.shown(session.shown(remedy), limit: 2_000))\n")
            }
        }
    }
}
