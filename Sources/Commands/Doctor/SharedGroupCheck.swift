import CredentialCore

/// Groups that are shared with other hosts: the cluster, this host's place in the group, unfinished refreshes.
struct SharedGroupCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let sharing = session.context.machine.sharing
        var findings: [Diagnostic] = []
        for group in (try? session.groups()) ?? [] {
            do throws(CredentialError) {
                guard try sharing.isShared(group) else { continue }
            } catch {
                findings.append(Diagnostic("shared group \(group)", error))
                continue
            }
            findings += sharing.membership.findings(of: group).map { found in
                let check = "\(found.check) of group \(group)"
                guard let error = found.error else { return Diagnostic(check, .ok, found.text) }
                return Diagnostic(
                    check, error, state: found.isEarly ? .note : .problem,
                    repair: found.damagedAccount.map { repair($0, group, session) }, in: group)
            }
        }
        return findings
    }

    private func repair(
        _ account: String, _ group: KeychainGroup, _ session: CommandSession
    ) -> Diagnostic.Fix {
        let services = session.services(session.stores(mayPrompt: false))
        return Diagnostic.Fix(
            "restore its previous state; if that is unknown, \(account) requires a new sign-in"
        ) { () throws(CredentialError) in
            try services.repair.mend(account, in: group)
        }
    }
}
