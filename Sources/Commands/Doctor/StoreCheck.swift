import CredentialCore

/// The session bus, the keyring on it, and the encrypted files.
struct StoreCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        let stores = session.stores(mayPrompt: false)
        return [bus(session), keyring(session, stores)] + files(session, stores)
    }

    private func bus(_ session: Session) -> Finding {
        let environment = session.context.environment
        if let address = GlobalOptions.set("DBUS_SESSION_BUS_ADDRESS", environment) {
            return Finding("bus", .ok, "DBUS_SESSION_BUS_ADDRESS names \(ForeignText.shown(address))")
        }
        if let folder = GlobalOptions.set("XDG_RUNTIME_DIR", environment),
            session.context.fileStates.state(of: folder + "/bus") != nil
        {
            return Finding("bus", .ok, "the session bus is in XDG_RUNTIME_DIR")
        }
        return Finding(
            "bus", .note, "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR leads to a session bus",
            remedy: "run this in a desktop session, or keep secrets in the encrypted file: --store file")
    }

    private func keyring(_ session: Session, _ stores: any SecretStores) -> Finding {
        let isNeeded = isUsed(.secretService, session)
        do throws(CredentialError) {
            let store = try stores.store(.secretService)
            let facts = try store.facts().joined(separator: "; ")
            do throws(CredentialError) { try store.probe() } catch {
                guard error.code == .storeLocked else { throw error }
                return Finding("keyring", .note, Message(verbatim: facts), remedy: "credmgr store unlock")
            }
            return Finding("keyring", .ok, Message(verbatim: facts))
        } catch {
            return Finding(
                "keyring",
                CredentialError(
                    error.code,
                    isNeeded ? "accounts are or shall be kept in it, but \(error)" : error.text,
                    hint: error.advice), state: isNeeded ? .problem : .note)
        }
    }

    private func files(_ session: Session, _ stores: any SecretStores) -> [Finding] {
        do throws(CredentialError) {
            let store = try stores.store(.file)
            var findings: [Finding] = []
            for group in try StoreGroups.withTypes(session) {
                let check = "file store \(group)"
                var isUnlockedByPeople = false
                do throws(CredentialError) {
                    guard let protection = try store.protection(of: group) else { continue }
                    isUnlockedByPeople = protection.isUnlockedByPeople
                    _ = try store.items(of: group, kind: .tokenSet)
                    findings.append(Finding(check, .ok, protection.summary))
                } catch {
                    // Without its key file nobody can open it.
                    let isLocked = error.code == .storeLocked && isUnlockedByPeople
                    findings.append(Finding(check, error, state: isLocked ? .note : .problem))
                }
            }
            return findings
        } catch {
            return [Finding("file store", error)]
        }
    }

    private func isUsed(_ kind: StoreKind, _ session: Session) -> Bool {
        if session.options.store == kind || session.configuration.store == kind { return true }
        let groups = (try? session.groups()) ?? []
        return groups.contains { group in
            (try? session.context.records.registry(of: group))?.accounts.contains { $0.store == kind } == true
        }
    }
}
