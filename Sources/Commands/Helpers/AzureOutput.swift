import CommandLine
import CredentialCore
import StrictJSON

/// Options of the Azure CLI that several commands take.
enum AzureOption {
    static let tenant = Option.value(
        "tenant", short: "t", .any("TENANT"), "use the account type of this tenant")
    static let subscription = Option.value(
        "subscription", short: "s", .any("ID"), "accepted for compatibility; printed unchanged")
    static let name = Option.value("name", short: "n", .any("ID"), "the same as --subscription")
    private static let output = Option.value(
        "output", short: "o", .choice("FORMAT", ["json", "jsonc", "none", "table", "tsv", "yaml", "yamlc"]),
        "the output format")
    private static let query = Option.value("query", .any("NAMES"), "print only this part, in JMESPath syntax")
    private static let onlyShowErrors = Option.flag("only-show-errors", "print only errors")
    private static let debug = Option.flag("debug", "print details, same as --verbose")

    /// Those that every command of the Azure CLI takes.
    static let global: [any DeclaredOption] = [output, query, onlyShowErrors, debug]

    /// The session of a call with the Azure CLI's options: of its own it takes `--verbose`, which all commands here
    /// have.
    static func session(_ arguments: Arguments, _ session: CommandSession) -> CommandSession {
        guard arguments[onlyShowErrors] || arguments[debug] else { return session }
        let notices = Notices(
            console: session.context.console, environment: session.context.environment,
            isQuiet: session.options.isQuiet || arguments[onlyShowErrors],
            isVerbose: session.options.isVerbose || arguments[debug], warns: !arguments[onlyShowErrors])
        return CommandSession(context: session.context, options: session.options, notices: notices)
    }

    /// Prints a result as the options want it.
    ///
    /// - Throws: ``ErrorCode/usage`` for a query of an unsupported kind.
    static func print(_ value: JSONValue, _ arguments: Arguments, _ session: CommandSession) throws(CredentialError)
    {
        var value = value
        if let text = arguments[query] { value = try AzureQuery(text).value(in: value) }
        try session.print(AzureText.text(value, as: arguments[output] ?? "json"))
    }
}

/// A part of a result: of JMESPath names, plain or in quotation marks, with dots between them, and `[0]`, `[]` and
/// `[*]`.
struct AzureQuery {
    private enum Step {
        case member(String)
        case element(Int)
        case each
    }

    private let steps: [Step]

    /// Reads a query.
    ///
    /// - Throws: ``ErrorCode/usage`` for anything else of JMESPath.
    init(_ text: String) throws(CredentialError) {
        var steps: [Step] = [], rest = text[...]
        if rest.hasPrefix("@") { rest = rest.dropFirst() }
        while let first = rest.first {
            if first == "[" {
                guard let end = rest.firstIndex(of: "]") else { throw Self.unknown(text) }
                let index = rest[rest.index(after: rest.startIndex)..<end]
                rest = rest[rest.index(after: end)...]
                if index.isEmpty || index == "*" {
                    steps.append(.each)
                } else {
                    guard let number = Int(index) else { throw Self.unknown(text) }
                    steps.append(.element(number))
                }
                continue
            }
            if first == "." {
                guard !steps.isEmpty else { throw Self.unknown(text) }
                rest = rest.dropFirst()
            } else if !steps.isEmpty {
                throw Self.unknown(text)
            }
            var name: Substring
            if rest.first == "\"" {
                guard let end = rest.dropFirst().firstIndex(of: "\"") else { throw Self.unknown(text) }
                name = rest[rest.index(after: rest.startIndex)..<end]
                rest = rest[rest.index(after: end)...]
            } else {
                name = rest.prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
                rest = rest.dropFirst(name.count)
            }
            guard !name.isEmpty else { throw Self.unknown(text) }
            steps.append(.member(String(name)))
        }
        self.steps = steps
    }

    private static func unknown(_ text: String) -> CredentialError {
        CredentialError(
            .usage,
            "--query must be names separated by dots, and indices, not \(UntrustedText.shown(text, limit: 80))",
            hint: "pipe the JSON into jq for more")
    }

    /// The part of a value.
    ///
    /// - Throws: ``ErrorCode/usage`` for a member that is not there, naming those that are.
    func value(in value: JSONValue) throws(CredentialError) -> JSONValue { try Self.value(in: value, steps[...]) }

    private static func value(
        in value: JSONValue, _ steps: ArraySlice<Step>
    ) throws(CredentialError) -> JSONValue {
        guard let step = steps.first else { return value }
        let rest = steps.dropFirst()
        switch step {
        case .member(let name):
            guard let object = value.object else { return .null }
            guard let member = object[name] else {
                throw CredentialError(
                    .usage,
                    "\(UntrustedText.shown(name, limit: 60)) not found for --query: expected one of "
                        + "\(object.keys.joined(separator: ", "))"
                )
            }
            return try Self.value(in: member, rest)
        case .element(let index):
            guard let elements = value.array else { return .null }
            let place = index < 0 ? elements.count + index : index
            return elements.indices.contains(place) ? try Self.value(in: elements[place], rest) : .null
        case .each:
            guard let elements = value.array else { return .null }
            var found: [JSONValue] = []
            for element in elements {
                let part = try Self.value(in: element, rest)
                if part != .null { found.append(part) }
            }
            return .array(found)
        }
    }
}

/// Results as the Azure CLI prints them.
enum AzureText {
    /// A value in one of the forms of `--output`.
    static func text(_ value: JSONValue, as output: String) -> String {
        switch output {
        case "none": ""
        case "tsv": rows(of: value).map { row($0) + "\n" }.joined()
        case "table": table(rows(of: value))
        case "yaml", "yamlc": yaml(value, indent: "")
        default: value.text(.indented) + "\n"
        }
    }

    static func object(_ members: [(name: String, value: JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { object[name] = value }
        return .object(object)
    }

    private static func rows(of value: JSONValue) -> [JSONValue] { value.array ?? (value == .null ? [] : [value]) }

    /// A cell of the table. The Azure CLI prints an array as its length and an object as an empty cell.
    private static func cell(_ value: JSONValue) -> String {
        if let elements = value.array { return String(elements.count) }
        if value.object != nil { return "" }
        return value == .null ? "None" : value.string ?? value.text()
    }

    private static func row(_ value: JSONValue) -> String {
        let cells = value.object?.members.map(\.value) ?? value.array ?? [value]
        return cells.map(cell).joined(separator: "\t")
    }

    /// Columns for the members that have one line, but for the id.
    private static func table(_ rows: [JSONValue]) -> String {
        var names: [String] = []
        for row in rows {
            for (name, value) in row.object?.members ?? [] where name != "id" && value.array == nil {
                if value.object == nil, value != .null, !names.contains(name) { names.append(name) }
            }
        }
        if names.isEmpty { names = ["result"] }
        let lines = rows.map { row in names.map { name in row.object.map { $0[name].map(cell) ?? "" } ?? cell(row) }
        }
        let heads = names.map { ($0.first?.uppercased() ?? "") + $0.dropFirst() }
        let widths = names.indices.map { column in
            ([heads] + lines).map { $0[column].count }.max() ?? 0
        }
        let all = [heads, widths.map { String(repeating: "-", count: $0) }] + lines
        return all.map { cells in
            let line = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            return line.joined(separator: "  ").reversed().drop { $0 == " " }.reversed() + "\n"
        }
        .joined()
    }

    private static func yaml(_ value: JSONValue, indent: String) -> String {
        if let object = value.object, !object.isEmpty {
            return object.members.map { name, value in
                let isFlat = value.object?.isEmpty ?? value.array?.isEmpty ?? true
                let line = "\(indent)\(scalar(.string(name))):"
                if isFlat { return "\(line) \(scalar(value))\n" }
                return line + "\n" + yaml(value, indent: value.array == nil ? indent + "  " : indent)
            }
            .joined()
        }
        if let elements = value.array, !elements.isEmpty {
            return elements.map { element in
                let text = yaml(element, indent: indent + "  ")
                return indent + "- " + text.dropFirst(indent.count + 2)
            }
            .joined()
        }
        return indent + scalar(value) + "\n"
    }

    /// A string is written plain if no character in it has a meaning (YAML 1.2 §7.3.3), else in single quotes.
    private static func scalar(_ value: JSONValue) -> String {
        guard let text = value.string else { return value.text() }
        let isPlain =
            text.first.map { $0.isASCII && $0.isLetter } == true
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_./@+ ".contains($0)) }
            && text.last != " "
            && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(text.lowercased())
        return isPlain
            ? text
            : "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}
