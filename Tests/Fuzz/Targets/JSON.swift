import StrictJSON

extension FuzzTarget {
    /// JSON to the letter: an accepted text is written and read as the same value.
    static let json = FuzzTarget("json") { bytes in
        guard let value = try? JSONValue.parse(bytes) else { return }
        require((try? JSONValue.parse(value.bytes())) == value, "what was read is written and read as the same")
        let isCommented = try? JSONValue.parse(bytes, dialect: .commented)
        require(isCommented == value, "the commented dialect takes all that the strict one takes")
    }

    /// JSON with comments and trailing commas.
    static let commentedJSON = FuzzTarget("commented-json") { bytes in
        guard let value = try? JSONValue.parse(bytes, dialect: .commented) else { return }
        require((try? JSONValue.parse(value.bytes())) == value, "what was read is written as strict JSON")
    }
}

/// The object in the bytes, as replies hold one.
func object(_ bytes: [UInt8]) -> JSONObject? { (try? JSONValue.parse(bytes))?.object }
