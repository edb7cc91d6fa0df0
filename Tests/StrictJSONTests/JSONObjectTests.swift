import StrictJSON
import Testing

@Suite struct JSONObjectTests {
    /// Few members are searched, many are hashed: both ways must behave alike.
    @Test(arguments: [3, 24, 25, 200])
    func `members are found replaced and removed`(_ count: Int) {
        var object = JSONObject()
        for number in 0..<count { object["n\(number)"] = .integer(Int64(number)) }
        #expect(object.count == count)
        #expect(object.keys == (0..<count).map { "n\($0)" })
        #expect((0..<count).allSatisfy { object["n\($0)"] == .integer(Int64($0)) })
        #expect(object["n\(count)"] == nil)
        object["n1"] = "one"
        #expect(object.keys.prefix(3) == ["n0", "n1", "n2"])
        object["n0"] = nil
        object["missing"] = nil
        #expect(object.count == count - 1)
        #expect(object["n0"] == nil)
        #expect(object["n1"] == "one")
        #expect(object["n\(count - 1)"] == .integer(Int64(count - 1)))
        object["n0"] = 0
        #expect(object.keys.last == "n0")
        #expect(object.members.map(\.name) == object.keys)
    }

    @Test func `an object can be emptied and filled again`() {
        var object = JSONObject()
        for number in 0..<60 { object["n\(number)"] = 1 }
        for number in 0..<60 { object["n\(number)"] = nil }
        #expect(object.isEmpty)
        #expect(object["n1"] == nil)
        object["n1"] = 2
        #expect(object["n1"] == 2)
    }

    @Test func `equality and hash do not see the order`() {
        let left: JSONValue = ["a": 1, "b": [2], "c": .null]
        let right: JSONValue = ["c": .null, "b": [2], "a": 1]
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(left != ["a": 1, "b": [2]])
        #expect(left != ["a": 1, "b": [2], "d": .null])
        #expect(left != ["a": 1, "b": [3], "c": .null])
    }
}

@Suite struct JSONValueTests {
    @Test func `accessors return only values that are present`() {
        #expect(JSONValue.string("a").string == "a")
        #expect(JSONValue.integer(1).string == nil)
        #expect(JSONValue.bool(true).bool == true)
        #expect(JSONValue.null.bool == nil)
        #expect(JSONValue.array([1]).array == [1])
        #expect(JSONValue.object(JSONObject()).object?.isEmpty == true)
        #expect(JSONValue.string("{}").object == nil)
    }

    @Test(arguments: [
        ("1e3", 1000), ("1.0", 1), ("-5E0", -5), ("1.5", nil), ("1e400", nil), ("9223372036854775808", nil),
        ("-9223372036854775809e0", Int64.min), ("1e-1", nil),
    ])
    func `a decimal is an integer only if it is one exactly`(_ text: String, _ integer: Int64?) {
        #expect(JSONValue.decimal(text).integer == integer)
    }

    @Test func `absent facts are null`() {
        #expect(JSONValue(nil as String?) == .null)
        #expect(JSONValue(nil as Int64?) == .null)
        #expect(JSONValue("a" as String?) == "a")
        #expect(JSONValue(["a", "b"]) == ["a", "b"])
    }
}
