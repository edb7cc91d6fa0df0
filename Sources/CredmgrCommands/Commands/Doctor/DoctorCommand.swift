import CredentialCore
import StrictJSON

/// `credmgr doctor`.
struct DoctorCommand: Command {
    let arguments: ParsedArguments

    /// The checks, in the order they are shown. A further part of the program adds its own here.
    static let checks: [any DoctorCheck] = [
        StoreCheck(), RegistryCheck(), FolderCheck(), MachineCheck(), TypeCheck(), ProviderCheck(),
    ]

    func run(_ session: Session) throws(CredentialError) {
        var findings = check(session)
        if arguments.flag("fix") {
            guard arguments.flag("yes") || session.mayAsk else {
                throw CredentialError(.usage, "--fix asks before each repair; without a terminal it needs --yes")
            }
            if try repair(findings, session) { findings = check(session) }
        }
        try print(findings, session)
        let problems = findings.count { $0.state == .problem }
        guard problems > 0 else { return }
        let isRepairable = findings.contains { $0.state == .problem && $0.repair != nil }
        throw CredentialError(
            .problemsFound, "\(problems) problem\(problems == 1 ? "" : "s") found",
            hint: isRepairable && !arguments.flag("fix") ? "credmgr doctor --fix" : nil)
    }

    private func check(_ session: Session) -> [Finding] {
        Self.checks.flatMap { $0.findings(session, isOnline: arguments.flag("online")) }
    }

    /// Repairs what the user agrees to.
    ///
    /// - Returns: whether anything was tried.
    private func repair(_ findings: [Finding], _ session: Session) throws(CredentialError) -> Bool {
        var hasTried = false
        for finding in findings {
            guard let repair = finding.repair else { continue }
            if !arguments.flag("yes") {
                session.notices.say("\(finding.check): \(finding.message)")
                let answer = try session.context.console.ask("  \(repair.action)? [y/N] ", isSecret: false).reveal()
                guard answer == "y" || answer == "Y" || answer == "yes" else { continue }
            }
            hasTried = true
            do throws(CredentialError) {
                try repair.run()
                session.notices.note("\(finding.check): \(repair.action): done")
            } catch {
                session.notices.warning("\(finding.check): \(repair.action): \(error.message)")
            }
        }
        return hasTried
    }

    private func print(_ findings: [Finding], _ session: Session) throws(CredentialError) {
        if arguments.flag("report") {
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
            try session.print("\(mark)  \(finding.check): \(ForeignText.shown(finding.message, limit: 2_000))\n")
            if finding.state != .ok, let remedy = finding.remedy {
                try session.print("           \(ForeignText.shown(remedy, limit: 2_000))\n")
            }
        }
    }
}
