import StrictJSON

/// Mappings of words in YAML 1.2, nested by their blanks or written between braces, with comments. It is no reader
/// of YAML: it marks any other content as odd, and ignores lines that are no mapping.
enum YAMLMappings {
    /// A key, and its content behind it or below it.
    struct Node {
        /// The key.
        let key: String
        /// The number of its line; the first is 1.
        var line = 1
        /// The word behind it; `nil` without a word, and for `null`.
        var value: String?
        /// Whether it has content that is not understood: an alias, a list, a word of several lines.
        var isOdd = false
        /// The mapping below it.
        var children: [Node] = []

        /// The first key of a name below it.
        subscript(key: String) -> Node? { children.first { $0.key == key } }
    }

    /// The depth of mappings between braces that is read.
    private static let depth = 16
    /// The lines that a mapping between braces may have.
    private static let longestFlow = 64

    /// The keys at the left.
    static func read(_ text: String) -> [Node] {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        var start = lines.startIndex
        while start < lines.endIndex, isEmpty(lines[start]) || isMark(lines[start]) { start += 1 }
        if start < lines.endIndex, lines[start].drop(while: isBlank).first == "{" {
            var reader = YAMLFlow(lines[start...].joined(separator: "\n"), line: start + 1)
            return reader.mapping(depth) ?? []
        }
        var flat = keys(in: lines)[...]
        return nodes(in: &flat, from: 0)
    }

    /// The keys of an object: JSON is YAML, too.
    static func nodes(of object: JSONObject) -> [Node] {
        object.members.map { member in
            var node = Node(key: member.name)
            switch member.value {
            case .null: break
            case .string(let text): node.value = text
            case .object(let below): node.children = nodes(of: below)
            default: node.isOdd = true
            }
            return node
        }
    }

    // MARK: Lines

    private typealias Key = (indent: Int, node: Node)

    private static func nodes(in keys: inout ArraySlice<Key>, from indent: Int) -> [Node] {
        var found: [Node] = []
        while let key = keys.first, key.indent >= indent {
            keys.removeFirst()
            var node = key.node
            if node.value == nil, node.children.isEmpty { node.children = nodes(in: &keys, from: key.indent + 1) }
            found.append(node)
        }
        return found
    }

    private static func keys(in lines: [Substring]) -> [Key] {
        var keys: [Key] = []
        var index = lines.startIndex
        while index < lines.endIndex {
            let line = lines[index]
            index += 1
            if isEmpty(line) || isMark(line) { continue }
            guard let (indent, name, rest) = split(line) else {
                goOn(&keys, with: line)
                continue
            }
            var node = Node(key: name, line: index)
            if let first = rest.first, first == ">" || first == "|" {
                var block: [Substring] = []
                while index < lines.endIndex, isEmptyWord(lines[index]) || blanks(lines[index]) > indent {
                    block.append(lines[index].drop(while: isBlank))
                    index += 1
                }
                node.value = trimmed(block.joined(separator: first == ">" ? " " : "\n")[...])
            } else if rest.first == "{" {
                let end = min(lines.endIndex, index + longestFlow)
                let text = ([rest] + lines[index..<end]).joined(separator: "\n")
                var reader = YAMLFlow(text, line: index)
                if let children = reader.mapping(depth), reader.isAtLineEnd {
                    node.children = children
                    index = reader.line
                } else {
                    node.isOdd = true
                }
            } else {
                read(rest, into: &node)
            }
            keys.append((indent, node))
        }
        return keys
    }

    /// Takes a line that has no key: the word of the key before it, if that has none yet.
    private static func goOn(_ keys: inout [Key], with line: Substring) {
        guard let last = keys.indices.last, blanks(line) > keys[last].indent else { return }
        guard keys[last].node.value == nil, keys[last].node.children.isEmpty, !keys[last].node.isOdd else {
            return keys[last].node.isOdd = true
        }
        read(line.drop(while: isBlank), into: &keys[last].node)
    }

    /// The key of a line, its blanks, and the text behind its colon.
    private static func split(_ line: Substring) -> (indent: Int, key: String, rest: Substring)? {
        var rest = line.drop(while: isBlank)
        var indent = blanks(line)
        // A list of mappings is read as if it were one: the file of hub has a list of one user for each host.
        while rest.hasPrefix("- ") {
            let inner = rest.dropFirst(2), blanks = inner.prefix(while: isBlank).count
            indent += 2 + blanks
            rest = inner.dropFirst(blanks)
        }
        rest = withoutProperties(rest) ?? rest
        guard let key = word(&rest, endsAtColon: true), !key.isEmpty else { return nil }
        rest = rest.drop(while: isBlank)
        guard rest.first == ":" else { return nil }
        rest = rest.dropFirst()
        guard rest.first.map(isBlank) ?? true else { return nil }
        rest = rest.drop(while: isBlank)
        return (indent, key, withoutProperties(rest) ?? rest)
    }

    /// Reads the word in a line, behind a key or alone.
    private static func read(_ text: Substring, into node: inout Node) {
        var rest = withoutProperties(text) ?? text
        let isQuoted = rest.first.map { "'\"".contains($0) } ?? false
        guard isQuoted || !startsOddly(rest), let value = word(&rest, endsAtColon: false), isEmpty(rest) else {
            return node.isOdd = true
        }
        node.value = isQuoted || !isNull(value) ? value : nil
    }

    // MARK: Words

    static func isNull(_ word: String) -> Bool { ["", "~", "null", "Null", "NULL"].contains(word) }

    static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

    private static func blanks(_ line: Substring) -> Int { line.prefix(while: isBlank).count }

    private static func isEmptyWord(_ line: Substring) -> Bool { line.allSatisfy(isBlank) }

    /// Whether a line has nothing but a comment.
    private static func isEmpty(_ line: Substring) -> Bool {
        line.drop(while: isBlank).first.map { $0 == "#" } ?? true
    }

    /// Whether a line begins or ends a document, or is a directive (YAML 1.2 §9.1).
    private static func isMark(_ line: Substring) -> Bool {
        ["---", "..."].contains(trimmed(line)) || line.hasPrefix("--- #") || line.hasPrefix("%")
    }

    /// Whether a plain word may not begin so (YAML 1.2 §7.3.3), or the text is an element of a list.
    static func startsOddly(_ text: Substring) -> Bool {
        guard let first = text.first else { return false }
        return "*&!|>%@`,[]{}".contains(first) || text.hasPrefix("- ") || text.hasPrefix("? ")
    }

    /// A text without the anchor and the tag of a string in front of it; `nil` for another tag.
    static func withoutProperties(_ text: Substring) -> Substring? {
        var rest = text
        while let first = rest.first, first == "&" || first == "!" {
            let property = rest.prefix { !isBlank($0) && !$0.isNewline }
            guard first == "&" || property == "!!str" || property == "!" else { return nil }
            rest = rest.dropFirst(property.count).drop(while: isBlank)
        }
        return rest
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }

    /// The quoted or plain word in front: a plain one ends at a comment, a key before its colon.
    private static func word(_ rest: inout Substring, endsAtColon: Bool) -> String? {
        if let quote = rest.first, quote == "'" || quote == "\"" { return quoted(&rest, by: quote) }
        var end = rest.startIndex
        while end < rest.endIndex {
            let character = rest[end], next = rest.index(after: end)
            let isBlankAhead = next == rest.endIndex || isBlank(rest[next])
            if endsAtColon, character == ":", isBlankAhead { break }
            if character == "#", end == rest.startIndex || isBlank(rest[rest.index(before: end)]) { break }
            end = next
        }
        let word = rest[..<end]
        rest = rest[end...]
        return trimmed(word)
    }

    /// The word between quotes (YAML 1.2 §7.3.1, §7.3.2), of the escapes those of the quote and the backslash.
    static func quoted(_ rest: inout Substring, by quote: Character) -> String? {
        rest = rest.dropFirst()
        var word = ""
        while let character = rest.popFirst() {
            if character == quote {
                guard quote == "'", rest.first == "'" else { return word }
                rest = rest.dropFirst()
            } else if character == "\\", quote == "\"" {
                guard let escaped = rest.popFirst(), "\"\\/".contains(escaped) else { return nil }
                word.append(escaped)
                continue
            }
            word.append(character)
        }
        return nil
    }
}

/// Reads mappings between braces (YAML 1.2 §7.4.2), JSON among them.
private struct YAMLFlow {
    private var rest: Substring
    /// The number of the line that it has come to.
    private(set) var line: Int

    init(_ text: String, line: Int) {
        rest = text.drop(while: YAMLMappings.isBlank)
        self.line = line
    }

    /// Whether nothing but a comment follows in the line.
    var isAtLineEnd: Bool {
        let text = rest.prefix { !$0.isNewline }.drop(while: YAMLMappings.isBlank)
        return text.isEmpty || text.first == "#"
    }

    /// The keys of the mapping in front; `nil` for one that is not understood, or has no end.
    mutating func mapping(_ depth: Int) -> [YAMLMappings.Node]? {
        guard depth > 0, rest.first == "{" else { return nil }
        rest = rest.dropFirst()
        var found: [YAMLMappings.Node] = []
        while true {
            skipBlanks()
            if rest.first == "}" {
                rest = rest.dropFirst()
                return found
            }
            let place = line
            guard let key = word(endsAtColon: true)?.text else { return nil }
            var node = YAMLMappings.Node(key: key, line: place)
            skipBlanks()
            if rest.first == ":" {
                rest = rest.dropFirst()
                skipBlanks()
                guard readContent(of: &node, depth) else { return nil }
                skipBlanks()
            }
            found.append(node)
            if rest.first == "," {
                rest = rest.dropFirst()
            } else if rest.first != "}" {
                return nil
            }
        }
    }

    /// - Returns: whether the rest of the mapping can be read.
    private mutating func readContent(of node: inout YAMLMappings.Node, _ depth: Int) -> Bool {
        guard let text = YAMLMappings.withoutProperties(rest) else { return false }
        rest = text
        if rest.first == "{" {
            guard let children = mapping(depth - 1) else { return false }
            node.children = children
            return true
        }
        guard let first = rest.first, first != ",", first != "}" else { return true }
        node.isOdd = YAMLMappings.startsOddly(rest)
        guard let word = word(endsAtColon: false) else { return false }
        if !node.isOdd { node.value = word.isQuoted || !YAMLMappings.isNull(word.text) ? word.text : nil }
        return true
    }

    /// The quoted or plain word in front, in one line.
    private mutating func word(endsAtColon: Bool) -> (text: String, isQuoted: Bool)? {
        if let quote = rest.first, quote == "'" || quote == "\"" {
            guard let text = YAMLMappings.quoted(&rest, by: quote), !text.contains(where: \.isNewline) else {
                return nil
            }
            return (text, true)
        }
        var end = rest.startIndex
        while end < rest.endIndex, !",{}[]".contains(rest[end]), !rest[end].isNewline {
            let next = rest.index(after: end)
            let isLast = next == rest.endIndex || rest[next].isWhitespace || ",{}[]".contains(rest[next])
            if endsAtColon, rest[end] == ":", isLast { break }
            if rest[end] == "#", end == rest.startIndex || YAMLMappings.isBlank(rest[rest.index(before: end)]) {
                break
            }
            end = next
        }
        let word = rest[..<end]
        guard !word.isEmpty else { return nil }
        rest = rest[end...]
        return (String(word.reversed().drop(while: \.isWhitespace).reversed()), false)
    }

    /// Passes over blanks, line breaks and comments.
    private mutating func skipBlanks() {
        var isAfterBlank = false
        while let first = rest.first {
            if first == "#", isAfterBlank {
                rest = rest.drop { !$0.isNewline }
                continue
            }
            guard first.isWhitespace else { return }
            if first.isNewline { line += 1 }
            isAfterBlank = true
            rest = rest.dropFirst()
        }
    }
}
