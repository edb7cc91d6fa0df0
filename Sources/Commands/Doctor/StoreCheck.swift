import CredentialCore

/// The session bus, the keyring on it, and the encrypted files.
struct StoreCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let stores = session.stores(mayPrompt: false)
        // The bus is asked by way of the keyring: an address alone does not prove that the bus works.
        let facts: Result<[String], CredentialError>
        do throws(CredentialError) {
            facts = .success(try stores.store(.secretService).facts())
        } catch {
            facts = .failure(error)
        }
        return [bus(session, facts), keyring(session, stores, facts)] + files(session, stores)
    }

    private func bus(_ session: CommandSession, _ facts: Result<[String], CredentialError>) -> Diagnostic {
        let environment = session.context.environment
        let place: LocalizedMessage
        if let address = GlobalOptions.set("DBUS_SESSION_BUS_ADDRESS", environment) {
            place = "DBUS_SESSION_BUS_ADDRESS names \(UntrustedText.shown(address))"
        } else if let folder = GlobalOptions.set("XDG_RUNTIME_DIR", environment),
            session.context.fileStates.state(of: folder + "/bus") != nil
        {
            place = "the session bus is in XDG_RUNTIME_DIR"
        } else {
            return Diagnostic(
                "bus", .note,
                "session bus not found: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR names a bus",
                remedy: "run this in a desktop session, or keep secrets in the encrypted file: --store file")
        }
        guard case .failure(let error) = facts, error.missesBus else { return Diagnostic("bus", .ok, place) }
        return Diagnostic(
            "bus", isUsed(.secretService, session) ? .problem : .note,
            "\(place), but the bus is unreachable: \(error)",
            remedy: error.advice)
    }

    private func keyring(
        _ session: CommandSession, _ stores: any SecretStores, _ found: Result<[String], CredentialError>
    ) -> Diagnostic {
        let isNeeded = isUsed(.secretService, session)
        do throws(CredentialError) {
            let store = try stores.store(.secretService)
            let facts = try found.get().joined(separator: "; ")
            do throws(CredentialError) { try store.probe() } catch {
                guard error.code == .storeLocked else { throw error }
                return Diagnostic(
                    "keyring", .note, LocalizedMessage(verbatim: facts), remedy: "credmgr store unlock")
            }
            return Diagnostic("keyring", .ok, LocalizedMessage(verbatim: facts))
        } catch {
            return Diagnostic(
                "keyring",
                CredentialError(
                    error.code,
                    isNeeded ? "the keyring is configured for accounts, but \(error)" : error.text,
                    hint: error.advice), state: isNeeded ? .problem : .note)
        }
    }

    private func files(_ session: CommandSession, _ stores: any SecretStores) -> [Diagnostic] {
        do throws(CredentialError) {
            let store = try stores.store(.file)
            var findings: [Diagnostic] = []
            for group in try StoreGroups.withTypes(session) {
                let check = "file store \(group)"
                var isUnlockedByPeople = false
                do throws(CredentialError) {
                    guard let protection = try store.protection(of: group) else { continue }
                    isUnlockedByPeople = protection.isUnlockedByPeople
                    _ = try store.items(of: group, kind: .tokenSet)
                    findings.append(Diagnostic(check, .ok, protection.summary))
                } catch {
                    // Without its key file no process can open it.
                    let isLocked = error.code == .storeLocked && isUnlockedByPeople
                    findings.append(Diagnostic(check, error, state: isLocked ? .note : .problem))
                }
            }
            return findings
        } catch {
            return [Diagnostic("file store", error)]
        }
    }

    private func isUsed(_ kind: StoreKind, _ session: CommandSession) -> Bool {
        if session.options.store == kind || session.configuration.store == kind { return true }
        let groups = (try? session.groups()) ?? []
        return groups.contains { group in
            (try? session.context.records.registry(of: group))?.accounts.contains { $0.store == kind } == true
        }
    }
}
