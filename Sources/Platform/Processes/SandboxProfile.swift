package import CredentialCore

/// The access of a confined program beyond the access that every one has: its own folder, programs, libraries, the
/// settings of names, certificates and time, and a temporary folder of its own.
package struct SandboxProfile: Sendable, Hashable {
    /// A family of network addresses.
    package enum Network: String, Sendable, CaseIterable {
        case ipv4, ipv6
    }

    /// The families it may use; an empty set means no network.
    package var network: Set<Network>
    /// Files and folders that it may read, absolute.
    package var readable: [String]
    /// Folders that it may also write in, absolute.
    package var writable: [String]
    /// Directories that the sandbox's other directories and files may not overlap, even through links.
    package var keptOut: [String]
    /// The most address space that each of its processes has, in MiB; `nil` for the usual limit.
    package var memory: Int?
    /// Whether it has no walls at all, and is only limited in processes and memory, and ended with all that it
    /// started.
    package var isLifted: Bool

    /// Makes a confinement; without arguments the narrowest.
    package init(
        network: Set<Network> = [], readable: [String] = [], writable: [String] = [], keptOut: [String] = [],
        memory: Int? = nil, isLifted: Bool = false
    ) {
        self.network = network
        self.readable = readable
        self.writable = writable
        self.keptOut = keptOut
        self.memory = memory
        self.isLifted = isLifted
    }

    /// The words of `credmgr __confine` for it.
    var options: [String] {
        let limits = memory.map { ["--memory", String($0)] } ?? []
        if isLifted { return limits + ["--unconfined"] }
        return limits + Network.allCases.filter(network.contains).flatMap { ["--network", $0.rawValue] }
            + readable.flatMap { ["--read", $0] } + writable.flatMap { ["--write", $0] }
            + keptOut.flatMap { ["--keep-out", $0] }
    }
}

/// A way to make sure that no process of a confined program outlives it, in the order in which they are tried.
package enum ContainmentWay: String, Sendable, CaseIterable {
    /// A PID namespace, whose end is that of every process in it.
    case namespace
    /// The supervisor as the tracer (ptrace): it lets each new process go on, but no process after the end has
    /// begun.
    case tracing
}

/// A wall that a kernel may lack.
package enum SandboxFeature: String, Sendable, CaseIterable {
    /// Landlock: files.
    case files
    /// Landlock 6 (Linux 6.12): signals to others.
    case signals
    /// seccomp: system calls, and with them the network, the session's bus and the keyrings.
    case calls
    /// Keyrings of the session.
    case keyring
    /// Every ``ContainmentWay``.
    case processes

    /// The actions that a confined program can take if this is lacking, as words that continue after its name.
    package var consequence: LocalizedMessage {
        switch self {
        case .files: "can read and write all your files: the kernel has no Landlock (Linux 5.13)"
        case .signals: "can send signals to your other programs: the kernel's Landlock is older than Linux 6.12"
        case .calls: "can use every network, your session's bus and your keys: the kernel filters no system calls"
        case .keyring: "has no session keyring of its own: the kernel has no keyrings, or a container denies access"
        case .processes:
            "can leave fast-forking processes behind: the kernel or a container denies PID namespaces and tracing "
                + "(ptrace)"
        }
    }
}
