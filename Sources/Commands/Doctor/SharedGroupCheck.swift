import CredentialCore

/// Groups that are shared with other hosts: the cluster, this host's place in the group, unfinished refreshes.
struct SharedGroupCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        let sharing = session.context.machine.sharing
        var findings: [Finding] = []
        for group in (try? session.groups()) ?? [] {
            do throws(CredentialError) {
                guard try sharing.isShared(group) else { continue }
            } catch {
                findings.append(Finding("shared group \(group)", error))
                continue
            }
            findings += sharing.membership.findings(of: group).map { found in
                let check = "\(found.check) of group \(group)"
                guard let error = found.error else { return Finding(check, .ok, found.text) }
                return Finding(
                    check, error, state: found.isEarly ? .note : .problem,
                    repair: found.damagedAccount.map { repair($0, group, session) }, in: group)
            }
        }
        return findings
    }

    private func repair(
        _ account: String, _ group: KeychainGroup, _ session: Session
    ) -> Finding.Repair {
        let services = session.services(session.stores(mayPrompt: false))
        return Finding.Repair(
            "put back what it held before; where nobody knows that, \(account) has to sign in again"
        ) { () throws(CredentialError) in
            try services.repair.mend(account, in: group)
        }
    }
}
