import CredentialCore

/// `config.json`: whether it can be read, and whether its rules name existing types and accounts.
struct ConfigurationCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let path = session.context.configurationFile
        if let fault = session.configurationFault { return [Diagnostic("configuration", fault)] }
        var findings = session.configuration.rules.compactMap { rule in
            fault(of: rule, session)
        }
        let settings = ConnectionSettings(of: session.configuration, at: path)
        do throws(CredentialError) { try AuthorityFile(session).check(settings) } catch {
            findings.append(Diagnostic("configuration", error))
        }
        let shown = settings.summary.map { [Diagnostic("configuration", .note, $0)] } ?? []
        if !findings.isEmpty { return findings + shown }
        return shown + [
            Diagnostic(
                "configuration", .ok,
                session.context.fileStates.state(of: path) == nil ? "\(path) does not exist" : "\(path) is valid")
        ]
    }

    private func fault(of rule: SelectionRule, _ session: CommandSession) -> Diagnostic? {
        guard let type = rule.type else { return nil }
        do throws(CredentialError) {
            _ = try session.catalog.definition(of: type)
            return nil
        } catch {
            return Diagnostic(
                "configuration", .problem,
                "\(session.rulePlace(rule)?.description ?? session.context.configurationFile): \(error)",
                remedy: "credmgr types")
        }
    }
}
