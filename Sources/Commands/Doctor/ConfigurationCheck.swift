import CredentialCore

/// `config.json`: whether it can be read, and whether its rules name what there is.
struct ConfigurationCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        let path = session.context.configurationFile
        if let fault = session.configurationFault { return [Finding("configuration", fault)] }
        var findings = session.configuration.rules.compactMap { rule in
            fault(of: rule, session)
        }
        let settings = ConnectionSettings(of: session.configuration, at: path)
        do throws(CredentialError) { try AuthorityFile(session).check(settings) } catch {
            findings.append(Finding("configuration", error))
        }
        let shown = settings.summary.map { [Finding("configuration", .note, $0)] } ?? []
        if !findings.isEmpty { return findings + shown }
        return shown + [
            Finding(
                "configuration", .ok,
                session.context.fileStates.state(of: path) == nil ? "there is no \(path)" : "\(path) is fine")
        ]
    }

    private func fault(of rule: AccountRule, _ session: Session) -> Finding? {
        guard let type = rule.type else { return nil }
        do throws(CredentialError) {
            _ = try session.catalog.definition(of: type)
            return nil
        } catch {
            return Finding(
                "configuration", .problem,
                "\(session.rulePlace(rule)?.description ?? session.context.configurationFile): \(error)",
                remedy: "credmgr types")
        }
    }
}
