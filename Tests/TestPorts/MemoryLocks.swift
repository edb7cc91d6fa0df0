import CredentialCore
import Synchronization

extension MemoryProcess: AccountLocks {
    func tryLock(_ account: String, in group: KeychainGroup) throws(CredentialError) -> (any HeldLock)? {
        try trace.call("locks.try") { () throws(CredentialError) in take(account, group) }
    }

    /// The lock does not wait, unless the trace has patience: a test lets the other one end by acting at this call.
    func lock(_ account: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock {
        trace.lockSeconds = seconds
        for _ in 0...trace.patience {
            if let lock = try trace.call("locks.lock", { () throws(CredentialError) in take(account, group) }) {
                return lock
            }
        }
        throw CredentialError(.lockTimeout, "another process holds the lock of \(account)")
    }

    func isCurrent(_ lock: any HeldLock, of account: String, in group: KeychainGroup) -> Bool {
        guard let lock = lock as? MemoryLock else { return true }
        return machine.state.withLock { $0.holders["\(group.name)/\(account)"] } == lock.owner
    }

    private func take(_ account: String, _ group: KeychainGroup) -> (any HeldLock)? {
        let name = "\(group.name)/\(account)"
        let isFree = machine.state.withLock { state in
            if state.holders[name] != nil || state.sharers[name]?.isEmpty == false { return false }
            state.holders[name] = ObjectIdentifier(trace)
            return true
        }
        return isFree ? MemoryLock(machine: machine, name: name, holder: ObjectIdentifier(trace)) : nil
    }
}

extension MemoryProcess {
    func share(_ name: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock {
        for _ in 0...trace.patience {
            if let lock = try trace.call("locks.share", { () throws(CredentialError) in takeShare(name, group) }) {
                return lock
            }
        }
        throw CredentialError(.lockTimeout, "another process holds the lock \(name) alone")
    }

    private func takeShare(_ lock: String, _ group: KeychainGroup) -> (any HeldLock)? {
        let name = "\(group.name)/\(lock)"
        let isFree = machine.state.withLock { state in
            if state.holders[name] != nil { return false }
            state.sharers[name, default: [:]][ObjectIdentifier(trace), default: 0] += 1
            return true
        }
        return isFree ? MemoryShare(machine: machine, name: name, holder: ObjectIdentifier(trace)) : nil
    }
}

/// A part in a lock that several hold.
private final class MemoryShare: HeldLock {
    private let machine: MemoryMachine
    private let name: String
    private let holder: ObjectIdentifier
    private let isHeld = Mutex(true)
    let descriptor: Int32 = -1

    init(machine: MemoryMachine, name: String, holder: ObjectIdentifier) {
        self.machine = machine
        self.name = name
        self.holder = holder
    }

    func release() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        guard wasHeld else { return }
        machine.state.withLock { state in
            // A lock that an end has freed is free.
            guard let count = state.sharers[name]?[holder] else { return }
            state.sharers[name]?[holder] = count > 1 ? count - 1 : nil
        }
    }
}

final class MemoryLock: HeldLock {
    private let machine: MemoryMachine
    private let name: String
    private let holder: Mutex<ObjectIdentifier>
    let descriptor: Int32 = -1

    init(machine: MemoryMachine, name: String, holder: ObjectIdentifier) {
        self.machine = machine
        self.name = name
        self.holder = Mutex(holder)
    }

    func release() {
        let holder = holder.withLock { $0 }
        machine.state.withLock { if $0.holders[name] == holder { $0.holders[name] = nil } }
    }

    /// The process that has it.
    var owner: ObjectIdentifier { holder.withLock { $0 } }

    /// Gives the lock to another process, as a descriptor that it inherits does.
    func pass(to trace: PortTrace) {
        let next = ObjectIdentifier(trace)
        let before = holder.withLock { holder in
            defer { holder = next }
            return holder
        }
        machine.state.withLock { if $0.holders[name] == before { $0.holders[name] = next } }
    }
}
