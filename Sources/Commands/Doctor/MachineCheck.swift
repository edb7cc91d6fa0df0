import CredentialCore

/// Locks, the cache of access tokens, the clock, this program's own file, and other installations in its way.
struct MachineCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        locks(session) + [cache(session), clock(session), memory(session)] + memoryOfSpent(session)
            + others(session)
    }

    /// The names by which people and programs call this one.
    private static let names = [
        "credmgr", "git-credential-credmgr", "docker-credential-credmgr", "terraform-credentials-credmgr",
        "cargo-credential-credmgr",
    ]

    /// Programs of another installation, which may be called in the place of this one's.
    private func others(_ session: CommandSession) -> [Diagnostic] {
        Self.names.compactMap(session.context.programs.otherProgram).map { path in
            Diagnostic(
                "programs", .note,
                "\(UntrustedText.shown(path, limit: 4_096)) in PATH is from a different installation than this "
                    + "program",
                remedy: "remove the other program, or put the directory of this program first in PATH")
        }
    }

    private func memory(_ session: CommandSession) -> Diagnostic {
        if session.context.programs.isUnreadable {
            return Diagnostic(
                "memory", .ok, "only root can read the program, so its memory is protected from the start")
        }
        return Diagnostic(
            "memory", .note,
            "you can read the program, so your other processes can open its memory as it starts",
            remedy: "install the program as root with mode 0711: scripts/setup install /usr/local, or the package")
    }

    /// How long a refresh holds its account's lock at most, unless something hangs, in seconds.
    private static let usualHold: Int64 = 60

    /// Whether locks work, and who has held one of an account for long.
    private func locks(_ session: CommandSession) -> [Diagnostic] {
        do throws(CredentialError) {
            let groups = try session.groups()
            for group in groups { try session.context.locks.tryLock("doctor", in: group)?.release() }
            let now = session.context.clock.now.epochSeconds
            var findings: [Diagnostic] = []
            // An account that cannot be read is a finding of its own.
            for (group, account) in (try? session.accounts(leftOut: { _, _ in })) ?? [] {
                guard let holder = session.context.locks.holder(of: account.id, in: group) else { continue }
                let held = max(0, now - holder.since)
                let isHanging = holder.isStopped || held > Self.usualHold
                findings.append(
                    Diagnostic(
                        "lock of \(account.id)", isHanging ? .problem : .note,
                        "process \(holder.processID)\(holder.isStopped ? ", which is stopped," : "") has held the "
                            + "lock for \(held) s",
                        remedy: isHanging
                            ? "kill \(holder.isStopped ? "-CONT " : "")\(holder.processID)" : nil))
            }
            if !findings.isEmpty { return findings }
            return [Diagnostic("locks", .ok, groups.isEmpty ? "no locks yet" : "locks work")]
        } catch {
            return [Diagnostic("locks", error)]
        }
    }

    private func cache(_ session: CommandSession) -> Diagnostic {
        guard session.isCaching else {
            return Diagnostic("cache", .note, "access tokens are not cached, as configured")
        }
        do throws(CredentialError) {
            try session.context.tokenCache.check()
            return Diagnostic("cache", .ok, "access tokens are cached, sealed, in memory")
        } catch {
            return Diagnostic(
                "cache", .note, "tokens are not cached, so every token comes from the store: \(error)",
                remedy: error.advice)
        }
    }

    /// Whether the machine remembers used refresh tokens: without that credmgr cannot recognize one that an old
    /// copy of a store restores.
    private func memoryOfSpent(_ session: CommandSession) -> [Diagnostic] {
        do throws(CredentialError) {
            try session.context.machine.usedTokens.checkMemory()
            return []
        } catch {
            return [
                Diagnostic(
                    "used tokens", .problem,
                    "cannot record used refresh tokens, so a backup may restore one: \(error)",
                    remedy: error.advice)
            ]
        }
    }

    /// The clock against known times of the past. Whether it is ahead only a server can tell: see `endpoints`.
    private func clock(_ session: CommandSession) -> Diagnostic {
        let now = session.context.clock.now
        let groups = (try? session.groups()) ?? []
        let newest = groups.compactMap {
            (try? session.context.records.registry(of: $0))?.accounts.map(\.updatedAt).max()
        }
        .max()
        guard let newest, newest.seconds(since: now) > 300 else {
            return Diagnostic("clock", .ok, "the time is \(now.rfc3339)")
        }
        return Diagnostic(
            "clock", .problem, "the time is \(now.rfc3339), but an account changed at \(newest.rfc3339)",
            remedy: "set the clock; token validation depends on it")
    }
}
