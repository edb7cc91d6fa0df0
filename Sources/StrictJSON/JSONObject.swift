/// The members of a JSON object: unique names in the order they were written.
///
/// Names are compared as Swift compares strings, by Unicode canonical equivalence; names that are equal in that
/// sense cannot both be in one object.
public struct JSONObject: Sendable, Hashable {
    private var entries: [Entry] = []
    /// The place of each name, kept only for objects with more than ``fewMembers`` members: searching a few is
    /// faster than hashing.
    private var places: [String: Int] = [:]

    private static let fewMembers = 24

    private struct Entry: Sendable, Hashable {
        let name: String
        var value: JSONValue
    }

    /// Makes an object without members.
    public init() {}

    /// The member called `name`; setting `nil` removes it, setting an existing one keeps its place.
    public subscript(name: String) -> JSONValue? {
        get { place(of: name).map { entries[$0].value } }
        set {
            switch (place(of: name), newValue) {
            case (let place?, let value?): entries[place].value = value
            case (let place?, nil):
                entries.remove(at: place)
                places = [:]
                indexIfLarge()
            case (nil, let value?): append(value, for: name)
            case (nil, nil): break
            }
        }
    }

    /// Adds a member unless the name is taken.
    ///
    /// - Returns: whether it was added.
    mutating func insert(_ value: JSONValue, for name: String) -> Bool {
        if place(of: name) != nil { return false }
        append(value, for: name)
        return true
    }

    /// The names, in order.
    public var keys: [String] { entries.map { $0.name } }
    /// How many members there are.
    public var count: Int { entries.count }
    /// Whether there is no member.
    public var isEmpty: Bool { entries.isEmpty }

    /// The members, in order.
    public var members: [(name: String, value: JSONValue)] { entries.map { ($0.name, $0.value) } }

    /// Two objects are equal when they have equal members, in any order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && left.entries.allSatisfy { right[$0.name] == $0.value }
    }

    /// Hashes the members, independent of their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(entries.reduce(0) { $0 ^ $1.hashValue })
    }

    private func place(of name: String) -> Int? {
        places.isEmpty ? entries.firstIndex { $0.name == name } : places[name]
    }

    private mutating func append(_ value: JSONValue, for name: String) {
        entries.append(Entry(name: name, value: value))
        if places.isEmpty { indexIfLarge() } else { places[name] = entries.count - 1 }
    }

    private mutating func indexIfLarge() {
        guard entries.count > Self.fewMembers else { return }
        places.reserveCapacity(entries.count * 2)
        for (place, entry) in entries.enumerated() { places[entry.name] = place }
    }
}

extension JSONObject {
    /// Makes an object with its members in the order written; of a name given twice the last value stays.
    public init(_ members: KeyValuePairs<String, JSONValue>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }
}
