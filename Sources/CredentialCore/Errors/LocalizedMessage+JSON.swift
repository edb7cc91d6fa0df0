package import StrictJSON

/// How a message goes from a worker to its caller: an array of the template and its values.
extension LocalizedMessage {
    package var json: JSONValue { .array([.string(template)] + values.map(\.json)) }

    /// Reads one; `nil` for any other value.
    package init?(json: JSONValue) {
        guard let elements = json.array, let template = elements.first?.string else { return nil }
        var values: [Value] = []
        for element in elements.dropFirst() {
            guard let value = Value(json: element) else { return nil }
            values.append(value)
        }
        self.init(template: template, values: values)
    }
}

extension LocalizedMessage.Value {
    fileprivate var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .message(let message): message.json
        case .plural(let count, let one, let other):
            ["count": .integer(Int64(count)), "one": one.json, "other": other.json]
        }
    }

    fileprivate init?(json: JSONValue) {
        if let text = json.string {
            self = .text(text)
        } else if let object = json.object {
            guard let count = object["count"]?.integer,
                let one = object["one"].flatMap(LocalizedMessage.init(json:)),
                let other = object["other"].flatMap(LocalizedMessage.init(json:))
            else { return nil }
            self = .plural(Int(count), one: one, other: other)
        } else if let message = LocalizedMessage(json: json) {
            self = .message(message)
        } else {
            return nil
        }
    }
}
