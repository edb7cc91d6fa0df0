public import CredentialCore

/// The process that connected to a broker's socket.
public struct Caller: Sendable, Equatable {
    /// The user, as the kernel gave it with the connection.
    public var uid: UInt32
    /// The process.
    public var pid: Int32
    /// When the process started, in clock ticks since the boot; `nil` if the identity is unknown.
    public var start: UInt64?
    /// The path of the program; `nil` if it is unknown.
    public var executable: String?
    /// The control group; `nil` if it is unknown.
    public var cgroup: String?
    /// The address that an SSH connection came from; `nil` without one.
    public var ssh: String?
    /// The key that consent is remembered under.
    public var key: CallerKey

    /// Makes a caller.
    public init(
        uid: UInt32, pid: Int32, start: UInt64? = nil, executable: String? = nil, cgroup: String? = nil,
        ssh: String? = nil, key: CallerKey
    ) {
        self.uid = uid
        self.pid = pid
        self.start = start
        self.executable = executable
        self.cgroup = cgroup
        self.ssh = ssh
        self.key = key
    }
}

/// The first of a caller's properties that is known, in the order of ``Kind``. An unknown identity is ``Kind/uid``.
public struct CallerKey: Sendable, Hashable {
    /// The property.
    public enum Kind: String, Sendable {
        case container, unit, exe, uid, ssh
    }

    /// The property.
    public var kind: Kind
    /// Its value.
    public var value: String

    /// Makes a key.
    public init(kind: Kind, value: String) {
        self.kind = kind
        self.value = value
    }
}

/// Finds out which process connected.
public protocol CallerIdentifier: Sendable {
    /// Returns the process at the other end of a connected socket.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the kernel does not tell the peer.
    func caller(ofSocket descriptor: Int32) throws(CredentialError) -> Caller
}
