/// The members of a JSON object: unique names in the order they were written.
public struct JSONObject: Sendable, Hashable {
    private var names: [String] = []
    private var values: [String: JSONValue] = [:]

    /// Makes an object without members.
    public init() {}

    /// Makes room for `count` members.
    init(capacity count: Int) {
        names.reserveCapacity(count)
        values.reserveCapacity(count)
    }

    /// The member called `name`; setting `nil` removes it, setting an existing one keeps its place.
    public subscript(name: String) -> JSONValue? {
        get { values[name] }
        set {
            if let newValue {
                if values.updateValue(newValue, forKey: name) == nil { names.append(name) }
            } else if values.removeValue(forKey: name) != nil {
                names.removeAll { $0 == name }
            }
        }
    }

    /// Adds a member unless the name is taken.
    ///
    /// - Returns: whether it was added.
    mutating func insert(_ value: JSONValue, for name: String) -> Bool {
        if values.updateValue(value, forKey: name) != nil { return false }
        names.append(name)
        return true
    }

    /// The names, in order.
    public var keys: [String] { names }
    /// How many members there are.
    public var count: Int { names.count }
    /// Whether there is no member.
    public var isEmpty: Bool { names.isEmpty }

    /// The members, in order.
    public var members: [(name: String, value: JSONValue)] {
        names.compactMap { name in values[name].map { (name, $0) } }
    }

    /// Two objects are equal when they have equal members, whatever the order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool { left.values == right.values }
    /// Hashes the members, whatever their order.
    public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
