import CredentialCore

/// Locks, the cache of access tokens, and the clock.
struct MachineCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        [locks(session), cache(session), clock(session)]
    }

    private func locks(_ session: Session) -> Finding {
        do throws(CredentialError) {
            let groups = try session.groups()
            for group in groups { try session.context.locks.tryLock("doctor", in: group)?.release() }
            return Finding("locks", .ok, groups.isEmpty ? "nothing to lock yet" : "locks work")
        } catch {
            return Finding("locks", error)
        }
    }

    private func cache(_ session: Session) -> Finding {
        guard session.isCaching else {
            return Finding("cache", .note, "access tokens are not cached, as you wished")
        }
        let cache = session.context.tokenCache
        let name = "\(session.context.dataHome)\ndoctor\n\(session.context.random.accountID())"
        cache.write([1], name: name, seconds: 5)
        defer { cache.remove(name) }
        if cache.read(name) == [1] { return Finding("cache", .ok, "the kernel's keyring keeps access tokens") }
        return Finding(
            "cache", .note, "the kernel's keyring keeps nothing here, so every token comes from the store",
            remedy: "usual in containers; elsewhere look at /proc/key-users, where quotas stand")
    }

    /// The clock against what is known of the past. Whether it is ahead only a server can tell: see `endpoints`.
    private func clock(_ session: Session) -> Finding {
        let now = session.context.clock.now
        let groups = (try? session.groups()) ?? []
        let newest = groups.compactMap { (try? session.context.registry.read($0))?.accounts.map(\.updatedAt).max() }
            .max()
        guard let newest, newest.seconds(since: now) > 300 else {
            return Finding("clock", .ok, "it is \(now.rfc3339)")
        }
        return Finding(
            "clock", .problem, "it says \(now.rfc3339), but an account changed at \(newest.rfc3339)",
            remedy: "set the clock; tokens are judged by it")
    }
}
