public import CredentialCore

/// The process that connected to a broker, as the kernel describes it.
///
/// The members serve consent and the audit log. They are no access control: a process can replace its executable.
public struct Caller: Sendable, Equatable {
    /// The user ID at the time of the connection.
    public var uid: UInt32
    /// The process ID in the broker's PID namespace; 0 if the process is in a namespace that the broker cannot see.
    public var pid: Int32
    /// The start of the process in clock ticks since boot; `nil` if the process is unknown.
    public var start: UInt64?
    /// The path of the executable; `nil` if it is not readable.
    public var executable: String?
    /// The control group, relative to the root of the hierarchy.
    public var cgroup: String?
    /// The address of an SSH client, or `ssh` if only the session is known; `nil` for other callers.
    public var ssh: String?
    /// The key that names the caller for consent.
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

    /// A caller of which only the user is known.
    public static func unknown(uid: UInt32, pid: Int32) -> Caller {
        Caller(uid: uid, pid: pid, key: CallerKey(kind: .uid, value: String(uid)))
    }
}

/// The name of a caller for consent: two processes with the same key share a grant.
public struct CallerKey: Sendable, Hashable, CustomStringConvertible {
    /// The property that names the caller; the first known of this order.
    public enum Kind: String, Sendable, CaseIterable {
        /// The scope of a container in the control group.
        case container
        /// A unit of systemd.
        case unit
        /// The executable: device, inode and digest.
        case exe
        /// The user alone.
        case uid
        /// A forwarded socket of OpenSSH.
        case ssh
    }

    /// The property.
    public var kind: Kind
    /// Its value: visible characters without spaces.
    public var value: String

    /// Makes a key.
    public init(kind: Kind, value: String) {
        self.kind = kind
        self.value = value
    }

    /// The key as `KIND:VALUE`, the form that `broker forget --caller` accepts.
    public var description: String { "\(kind.rawValue):\(value)" }

    /// Reads a key of the form `KIND:VALUE`; `nil` for another text.
    public init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), let kind = Kind(rawValue: String(text[..<colon])) else {
            return nil
        }
        let value = String(text[text.index(after: colon)...])
        guard !value.isEmpty else { return nil }
        self.init(kind: kind, value: value)
    }
}

/// Identifies the process at the other end of a connection.
public protocol CallerIdentifier: Sendable {
    /// Identifies the caller of a connected socket; a process that cannot be identified falls to its user.
    ///
    /// - Parameter descriptor: the connected Unix socket; it stays open.
    /// - Throws: ``ErrorCode/inputOutput`` if the kernel does not name the user.
    func caller(ofSocket descriptor: Int32) throws(CredentialError) -> Caller
}
