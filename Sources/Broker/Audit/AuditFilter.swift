public import StrictJSON

/// The lines of an audit log to show: of each criterion with values, one must match.
public struct AuditFilter: Sendable {
    /// The earliest time, as ``AuditTime`` writes it.
    public var since: String?
    /// The time from which on lines are left out.
    public var until: String?
    /// IDs of accounts.
    public var accounts: [String] = []
    /// Origins.
    public var origins: [String] = []
    /// Callers: the path or name of an executable, a process ID, or the kind of the key.
    public var callers: [String] = []
    /// Kinds of events.
    public var kinds: [String] = []

    /// Makes a filter that every line passes.
    public init() {}

    /// Whether a line passes.
    public func accepts(_ line: JSONObject) -> Bool {
        let time = line["t"]?.string ?? ""
        if let since, time < since { return false }
        if let until, time >= until { return false }
        return Self.has(accounts, [line["account"]?.string]) && Self.has(origins, [line["origin"]?.string])
            && Self.has(kinds, [line["what"]?.string]) && Self.has(callers, Self.names(line["caller"]?.object))
    }

    private static func has(_ wanted: [String], _ values: [String?]) -> Bool {
        wanted.isEmpty || values.contains { value in value.map(wanted.contains) ?? false }
    }

    private static func names(_ caller: JSONObject?) -> [String?] {
        guard let caller else { return [] }
        let path = caller["exe"]?.string
        return [
            path, path.flatMap { $0.split(separator: "/").last.map(String.init) }, caller["key"]?.string,
            caller["pid"]?.integer.map { String($0) },
        ]
    }
}
