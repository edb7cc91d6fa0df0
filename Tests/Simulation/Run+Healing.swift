import CredentialCore

@testable import SharedGroups

// The rules that must hold when all has healed.
extension Run {
    func heal() {
        world.tell("all heals")
        world.faults = .none
        world.plannedCrash = nil
        if scenario == .keys {
            world.setKeyring(isAway: false)
            // The next process that signs in or looks ends the work that ended half-way.
            attempt(.catchUp, on: hosts[0])
            attempt(.doctor, on: hosts[0])
        }
        for lease in world.cluster.content.leases.keys { world.cluster.end(lease) }
        // Longer than any clock is off.
        world.milliseconds += 3 * 3_600_000
        while !world.lateCommits.isEmpty { world.lateCommits.removeFirst()() }
        while !world.late.isEmpty { world.comeLate() }
        for host in hosts { host.skew = 0 }
        var members = hosts.filter { $0.name != "spare" && (!isShared || world.hasAdmitted($0)) }
        // A host that has crashed may never come back.
        var gone: SimulatedHost?
        let crashed = members.filter(\.hasCrashed)
        if members.count > 1, !crashed.isEmpty, world.draw(3) {
            gone = crashed[world.schedule.random.below(crashed.count)]
            members.removeAll { $0 === gone }
        }
        // A cluster that was restored to a time before an expel may accept no change before that is done again.
        if world.wasRestored {
            // If the cluster does not name some hosts that another one has restored, a host learns of them when it
            // looks, and reports them.
            for _ in 0..<(scenario == .meddled ? 2 : 1) {
                if scenario == .meddled {
                    for host in members {
                        _ = try? host.process().ports.sharing.catchUp(World.group, unlessWithin: 0)
                    }
                }
                // The host that does it first goes by its own notes.
                for host in world.draw(2) ? members : members.reversed() {
                    for name in world.expelledNames where name != host.name { expel(name, on: host) }
                }
            }
            members.removeAll { isShared && !world.hasAdmitted($0) }
            // As the manual says: everybody looks before anything is refreshed.
            if isShared, world.draw(2) { look(members) }
        }
        // A host puts there the answer that it has journaled, before it refreshes or when it does; a host that
        // finds an intent reports it.
        let isTakenUpFirst = world.draw(2)
        if isTakenUpFirst { takeUpAnswers(members) }
        var errors = refused(members)
        if !errors.isEmpty { errors = refused(members) }
        if settle(members, errors) { errors = refused(members) }
        // No host has saved the answer for an account yet that no host means here.
        if !isTakenUpFirst { takeUpAnswers(members) }
        // An answer that was put aside is tried when another is refused.
        if !errors.isEmpty { errors = refused(members) }
        checkAccount(members, errors, isKept: gone.map { $0.hasJournal } ?? false)
        // A restored cluster may have brought it back, too.
        for host in hosts where host.isExpelled && !world.hasAdmitted(host) { checkExpelled(host) }
        for host in hosts where host.machine.hasLocks { world.problems.append("\(host.name) keeps a lock") }
        if !isShared { checkSecrets(hosts[0]) }
        for host in members where host.hasJournal {
            world.problems.append("\(host.name) has not put its journal there: \(errors)")
        }
        if world.problems.isEmpty, !world.wasRestored, world.draw(2) { end(members) }
    }

    /// Has every host look at a restored cluster: the better knowledge of one of them is in the cluster then. A
    /// list goes by revisions, which repeat: it overlooks a record that has the very revision of the copy.
    private func look(_ members: [SimulatedHost]) {
        var overlooked: [ObjectIdentifier: Set<String>] = [:]
        for host in members {
            let standing = world.cluster.content.records
            overlooked[ObjectIdentifier(host)] = Set(
                host.copied.keys.filter {
                    host.copiedRevisions[$0] == standing["\(World.path)a/\($0)/set"]?.revision
                })
            do throws(CredentialError) {
                try host.process().ports.sharing.catchUp(World.group, unlessWithin: 0)
            } catch { world.problems.append("\(host.name) cannot look: \(error.message)") }
        }
        checkCopies(members, [], but: overlooked)
    }

    private func takeUpAnswers(_ members: [SimulatedHost]) {
        for host in members { host.process().services.takeUpAnswers(in: World.group) }
    }

    /// The user ends all sign-ins at the provider: every host asks for a new sign-in, and no kept token is sent
    /// once more.
    private func end(_ members: [SimulatedHost]) {
        world.tell("somebody ends all sign-ins")
        for signIn in world.provider.current.indices { world.provider.revoke(signIn) }
        _ = refused(members)
        for refusal in refused(members)
        where refusal.error.code != .signInRequired && refusal.error.code != .noSuchAccount {
            world.problems.append("after the end of all sign-ins \(refusal)")
        }
    }

    /// Looks at the recorded intents; a user who knows states that no host uses them.
    ///
    /// - Returns: whether there was one.
    private func settle(_ members: [SimulatedHost], _ errors: [Refusal]) -> Bool {
        let intents = world.cluster.intents
        guard !intents.isEmpty else { return false }
        // Intents with an unknown end stay: not even the host that has recorded them knows it, when it comes back.
        for intent in intents where !world.wasRestored && !world.unknownEnds.contains(intent.nonce) {
            guard let host = world.recorded[intent.nonce]?.host, members.contains(where: { $0 === host }) else {
                continue
            }
            world.problems.append("an intent of \(intent.host) stands though it knows how it ended: \(errors)")
        }
        if !world.wasRestored, errors.contains(where: { $0.error.code == .temporary }) {
            for intent in intents where !world.isMember(intent) {
                world.problems.append(
                    "the intent of \(intent.host) is waited for, which belongs to the group no more")
            }
        }
        // After a cluster was restored there may be two accounts, and each host may mean another.
        let waiting = members.filter { member in errors.contains { $0.host == member.name } }
        for host in waiting.isEmpty ? [members[0]] : waiting {
            do throws(CredentialError) { try token(host.process(), force: false, takesOver: true) } catch {
                if error.code != .signInRequired { world.problems.append("nobody can take over: \(error.message)") }
            }
        }
        return true
    }

    private func checkExpelled(_ host: SimulatedHost) {
        // One that ended while it joined knows of no group.
        guard host.files[ClusterConfiguration.fileName] != nil else { return }
        // An expelled host sends no user to a sign-in that it could not keep, even if another host has its name
        // now.
        do throws(CredentialError) {
            try host.process().ports.sharing.check(World.group)
            world.problems.append("\(host.name), which was expelled, may send a person to sign in")
        } catch {
            if error.code != .storeLocked {
                world.problems.append("\(host.name), which was expelled, is told: \(error.message)")
            }
            // That would be another machine, which has its name now.
            if let advice = error.advice, "\(advice)".contains("groups expel") {
                world.problems.append("\(host.name), which was expelled, is told to have \(host.name) expelled")
            }
        }
        do throws(CredentialError) {
            try token(host.process(), force: true)
            world.problems.append("\(host.name), which was expelled, gets a token")
        } catch {
            if error.code != .storeLocked, error.code != .noSuchAccount {
                world.problems.append("\(host.name), which was expelled, is told: \(error.message)")
            }
        }
    }

    /// No secret is without an account that leads to it: a copy that does not count is noted.
    private func checkSecrets(_ host: SimulatedHost) {
        let accounts = host.machine.accounts()
        for (id, stores) in host.machine.secrets() {
            let account = accounts.first { $0.id == id }
            for store in stores where account?.store != store && account?.staleKeyringCopy != store {
                world.problems.append("\(id) has a secret in \(store) to which nothing leads")
            }
        }
    }

    private struct Refusal: CustomStringConvertible {
        let host: String
        let error: CredentialError
        var description: String { "\(host): \(error.message)" }
    }

    /// The hosts that are refused a new token.
    private func refused(_ hosts: [SimulatedHost]) -> [Refusal] {
        // No host has looked at the cluster just now.
        world.milliseconds += 2 * 1_000 * ClusterConfiguration.standardCacheSeconds
        var errors: [Refusal] = []
        for host in hosts {
            do throws(CredentialError) { try token(host.process(), force: true) } catch {
                errors.append(Refusal(host: host.name, error: error))
            }
        }
        return errors
    }

    private func sets(_ process: SimulatedProcess) throws(CredentialError) -> [TokenSet] {
        try process.ports.records.registry(of: World.group).accounts.map { (account) throws(CredentialError) in
            guard let set = try process.services.repository.read(account, in: World.group, isLocked: true) else {
                throw CredentialError(.storeDamaged, "\(account.id)\(Self.withoutSecrets)")
            }
            return set
        }
    }

    private static let withoutSecrets = " has no secrets"

    private func checkAccount(_ members: [SimulatedHost], _ errors: [Refusal], isKept: Bool) {
        let found: [TokenSet]
        do throws(CredentialError) { found = try sets(members[0].process()) } catch {
            // A sign-out that ends half-way leaves an account without secrets, which a second one ends.
            let isWithoutSecrets = error.message.hasSuffix(Self.withoutSecrets)
            if world.wasRestored || !signOuts.isEmpty && !isShared && isWithoutSecrets { return }
            return world.problems.append("the accounts cannot be read: \(error.message)")
        }
        if world.wasRestored { return checkRestored(members, errors) }
        if found.isEmpty {
            // A sign-in that was acknowledged stays, but for a sign-out that had not ended when it began.
            let last = signOuts.compactMap(\.ended).max() ?? -1
            if signIns.values.contains(where: { $0.isDone && $0.began > last }) {
                world.problems.append("the account is gone: \(errors)")
            }
            return
        }
        // A sign-in that ended behind its write into the keyring is an account, though no process has reported it.
        if found.count > 1, scenario != .keys || !hosts[0].hasCrashed {
            world.problems.append("one person has \(found.count) accounts: \(errors)")
        }
        // An account does not come back after an acknowledged sign-out, unless a sign-in ended after that sign-out
        // began.
        for set in found {
            let last = signOuts.filter { $0.isDone && $0.account == set.account.id }.map(\.began).max()
            guard let last else { continue }
            let isBack = signIns.values.contains {
                $0.ended ?? .max > last && $0.account ?? set.account.id == set.account.id
            }
            if !isBack { world.problems.append("an account that was signed out is there: \(errors)") }
        }
        if isLabelled, signOuts.isEmpty, found.contains(where: { $0.account.label == nil }) {
            world.problems.append("a label is gone: \(errors)")
        }
        for set in found { check(set, isOnly: found.count == 1, errors, isKept: isKept) }
    }

    private func check(_ set: TokenSet, isOnly: Bool, _ errors: [Refusal], isKept: Bool) {
        guard let token = set.refreshToken else {
            return world.problems.append("\(set.account.id) has no refresh token")
        }
        if isOnly, let standing = signIns[token.signIn], let end = standing.ended,
            let newer = signIns.first(where: { number, span in
                // A sign-in that another may have replaced proves no rule about its successor, even if the other
                // was in the cluster before its host could report it.
                let isReplaced =
                    world.isReplaced(number, before: token.signIn)
                    || signIns.contains { other, later in
                        (later.isDone || world.haveStood.contains(other))
                            && later.ended ?? .max > span.ended ?? .max
                    }
                // One that has ended gives way to an answer that was put aside. Of one that its host had to keep
                // for later only the hosts' clocks tell whether it was before another.
                return !isReplaced && span.isDone && span.began > end
                    && (standing.isDone || span.time > standing.time)
                    && !world.provider.hasEnded(number) && !world.excused.contains(number)
            })
        {
            world.problems.append("sign-in \(newer.key) was acknowledged, and \(token) stands")
        }
        if world.provider.takes(token) {
            if set.isLost {
                world.problems.append("\(token) is marked as lost, which the provider takes: \(errors)")
            } else if isOnly, !errors.isEmpty {
                world.problems.append("no token when all has healed: \(errors)")
            }
            return
        }
        // The provider has gone on, and its response is lost. Of a sign-in in whose place another one has stood no
        // answer is kept, though that has ended since.
        if !world.provider.hasEnded(token.signIn), !world.excused.contains(token.signIn), !isKept,
            !world.wasReplaced(token.signIn)
        {
            world.problems.append("\(token) is kept, which the provider does not take: \(errors)")
        }
        // Every host asks for a new sign-in; no host waits for a response that does not come.
        if isOnly, !set.isLost || errors.contains(where: { $0.error.code != .signInRequired }) {
            world.problems.append("\(token) is gone, and not everybody is told so: \(errors)")
        }
    }

    /// A cluster may have lost the records that it has forgotten; but every host gets a token, or asks for a new
    /// sign-in.
    private func checkRestored(_ members: [SimulatedHost], _ errors: [Refusal]) {
        checkCopies(members, errors)
        for refusal in errors where refusal.error.code != .signInRequired && refusal.error.code != .noSuchAccount {
            world.problems.append("after the cluster was put back \(refusal)")
        }
    }

    /// The newest grant that a host knows is in the cluster again.
    private func checkCopies(
        _ members: [SimulatedHost], _ errors: [Refusal], but overlooked: [ObjectIdentifier: Set<String>] = [:]
    ) {
        for host in members {
            for (id, copied) in host.copied where overlooked[ObjectIdentifier(host)]?.contains(id) != true {
                let key = "\(World.path)a/\(id)/set"
                guard let standing = world.cluster.tokenSet(key)?.refreshToken else { continue }
                for token in copied
                where world.provider.takes(token) && token.signIn == standing.signIn && token != standing {
                    world.problems.append("\(host.name) has known \(token), and \(standing) stands: \(errors)")
                }
            }
        }
    }
}
