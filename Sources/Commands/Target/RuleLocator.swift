import CredentialCore

/// The location of a rule in `config.json`, for messages.
struct RuleLocation: CustomStringConvertible {
    let file: String
    let line: Int?

    var description: String { file + (line.map { ":\($0)" } ?? "") }
}

extension CommandSession {
    /// Returns the location of a rule; `nil` for a rule that is not in the file.
    func rulePlace(_ rule: SelectionRule) -> RuleLocation? {
        guard let index = configuration.rules.firstIndex(of: rule) else { return nil }
        let file = context.configurationFile
        let bytes = try? context.typeFiles.read(file)?.bytes
        return RuleLocation(file: file, line: bytes.flatMap { RuleLocator.line(ofRule: index, in: $0) })
    }
}

extension TargetResolver {
    /// The file, and the line in it, of the rule that chose the account, or its type; `nil` if no file did.
    func place(of target: Target, _ options: TargetOptions) -> RuleLocation? {
        let rule =
            target.rule == .configuration ? try? rule(options, for: target.type) : try? ruleOfType(options)
        return rule.flatMap(session.rulePlace)
    }
}

/// The lines at which the rules of a `config.json` begin, for messages: the parsed document has no lines any more.
enum RuleLocator {
    /// The line, counted from 1, on which the rule at `index` begins; `nil` if there is no such rule.
    ///
    /// - Parameter bytes: a file that has been read as JSON with comments already.
    static func line(ofRule index: Int, in bytes: [UInt8]) -> Int? {
        var scan = Scan(bytes: bytes)
        var depth = 0
        var key: String?
        var isInRules = false
        var count = 0
        while let token = scan.next() {
            switch token {
            case .text(let text): if depth == 1 { key = text }
            case .open(let kind):
                depth += 1
                if depth == 2, kind == UInt8(ascii: "["), key == "rules" { isInRules = true }
                if depth == 3, isInRules {
                    if count == index { return scan.line }
                    count += 1
                }
            case .close:
                depth -= 1
                if depth == 1 { isInRules = false }
            }
        }
        return nil
    }

    private enum Token {
        case text(String)
        case open(UInt8)
        case close
    }

    /// Goes only through the characters that give a document its shape.
    private struct Scan {
        let bytes: [UInt8]
        var position = 0
        var line = 1

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func next() -> Token? {
            while position < bytes.count {
                let byte = bytes[position]
                position += 1
                switch byte {
                case 0x0A: line += 1
                case UInt8(ascii: "\""): return .text(string())
                case UInt8(ascii: "/"): skipComment()
                case UInt8(ascii: "{"), UInt8(ascii: "["): return .open(byte)
                case UInt8(ascii: "}"), UInt8(ascii: "]"): return .close
                default: break
                }
            }
            return nil
        }

        private mutating func string() -> String {
            let start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
            defer { position += 1 }
            return String(decoding: bytes[start..<min(position, bytes.count)], as: UTF8.self)
        }

        private mutating func skipComment() {
            guard position < bytes.count else { return }
            if bytes[position] == UInt8(ascii: "/") {
                while position < bytes.count, bytes[position] != 0x0A { position += 1 }
                return
            }
            position += 1
            while position + 1 < bytes.count {
                if bytes[position] == 0x0A { line += 1 }
                if bytes[position] == UInt8(ascii: "*"), bytes[position + 1] == UInt8(ascii: "/") { break }
                position += 1
            }
            position += 2
        }
    }
}
