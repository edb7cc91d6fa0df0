import CredentialCore

/// One pass over the words of a command line. The first fault is kept and the reading goes on, because a `-h`
/// further on wins.
struct ArgumentScanner {
    private let table: CommandTable
    private var words: [String] = []
    private var path: [String] = []
    private var command: CommandSpec?
    private var values: [String: [String]] = [:]
    private var positionals: [String] = []
    private var fault: CredentialError?
    private var commandIsUnknown = false
    private var optionsEnded = false
    /// The word that the command has no place for, if that is the fault.
    private(set) var stray: StrayArgument?

    init(table: CommandTable) { self.table = table }

    // MARK: Reading

    mutating func read(_ words: [String]) {
        self.words = words
        var rest = words[...]
        while let word = rest.popFirst() {
            if optionsEnded || !Self.isOption(word) {
                readPlain(word)
            } else if word == "--" {
                optionsEnded = true
            } else if word.hasPrefix("--") {
                readLong(word.unicodeScalars.dropFirst(2), &rest)
            } else {
                readCluster(word.dropFirst(), &rest)
            }
        }
    }

    /// A dash with something behind it that is not a digit.
    private static func isOption(_ word: String) -> Bool {
        let bytes = word.utf8.prefix(2)
        guard bytes.count == 2, bytes.first == UInt8(ascii: "-"), let second = bytes.last else { return false }
        return !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(second)
    }

    private mutating func readPlain(_ word: String) {
        if commandIsUnknown { return }
        let mayDescend = positionals.isEmpty && (path.isEmpty || !optionsEnded)
        if mayDescend, table.contains(path + [word]) {
            path.append(word)
            command = table.command(path)
        } else if let command, command.role != .namespace,
            !command.parameters.isEmpty || SpellingSuggestion.to(word, among: table.nextWords(after: path)) == nil
        {
            // Without parameters an argument too many, which is said later; or else a slip in a further word.
            positionals.append(word)
        } else {
            commandIsUnknown = true
            note(unknownCommand(word))
        }
    }

    /// By scalars, not characters: an accent behind the '=' would make one character of both.
    private mutating func readLong(
        _ text: Substring.UnicodeScalarView, _ rest: inout ArraySlice<String>
    ) {
        let place = text.firstIndex(of: "=")
        let name = String(text[..<(place ?? text.endIndex)])
        let attached = place.map { String(text[text.index(after: $0)...]) }
        guard let option = table.options(of: command).first(where: { $0.name == name }) else {
            let value = attached ?? rest.first.flatMap { Self.isOption($0) ? nil : $0 }
            note(unknownOption("--" + name, value))
            return
        }
        guard option.value != nil, attached != nil || !option.valueIsOptional else {
            if attached != nil { note(usage("option \(option.written) does not accept a value")) }
            values[name, default: []] += []
            return
        }
        readValue(of: option, attached: attached, &rest)
    }

    private mutating func readCluster(_ text: Substring, _ rest: inout ArraySlice<String>) {
        var letters = text
        while let letter = letters.popFirst() {
            guard let option = table.options(of: command).first(where: { $0.short == letter }) else {
                note(unknownOption("-\(letter)"))
                return
            }
            guard option.value == nil || option.valueIsOptional && letters.isEmpty else {
                // `-o=json`, as programs write it that rely on the leniency of other parsers.
                if letters.first == "=" { letters.removeFirst() }
                readValue(of: option, attached: letters.isEmpty ? nil : String(letters), &rest)
                return
            }
            values[option.name, default: []] += []
        }
    }

    private mutating func readValue(of option: OptionSpec, attached: String?, _ rest: inout ArraySlice<String>) {
        var value = attached
        if value == nil, let next = rest.first, !Self.isOption(next) { value = rest.popFirst() }
        guard let value, let spec = option.value else {
            let hint: LocalizedMessage = "write \(option.written)=VALUE for a value that begins with '-'"
            note(usage("option \(option.written) requires a value", hint: rest.isEmpty ? nil : hint))
            return
        }
        if !option.isRepeatable, values[option.name] != nil {
            note(usage("option \(option.written) given twice"))
        }
        check(value, spec, option.written)
        values[option.name, default: []].append(value)
    }

    // MARK: Result

    var asksForJSON: Bool {
        command?.hasJSONFlag == true && values["json"] != nil
    }

    mutating func invocation() throws(CredentialError) -> Invocation {
        if let fault, commandIsUnknown { throw fault }
        if values[CommandTable.help.spec.name] != nil { return .help(path) }
        if values[CommandTable.version.spec.name] != nil { return .version }
        guard let command, command.role != .namespace else {
            if let fault { throw fault }
            return path.isEmpty ? .nothing : .help(path)
        }
        let options = table.options(of: command)
        for name in values.keys.sorted() where !options.contains(where: { $0.name == name }) {
            note(usage("'\(command.name)' has no option --\(name)"))
        }
        assignPositionals(command)
        for option in options {
            for value in values[option.name] ?? [] {
                if let problem = option.fault(value) { note(usage("\(option.written) \(problem)")) }
            }
        }
        if let fault { throw fault }
        let declared = Set(options.map(\.name) + command.parameters.map(\.name))
        return .command(Arguments(command: command, words: words, declared: declared, values: values))
    }

    private mutating func assignPositionals(_ command: CommandSpec) {
        var rest = positionals[...]
        var missing: [String] = []
        for parameter in command.parameters {
            let count = parameter.arity == .variadic ? rest.count : min(1, rest.count)
            if count == 0 {
                if parameter.arity == .required { missing.append(parameter.value.placeholder) }
                continue
            }
            for value in rest.prefix(count) { check(value, parameter.value, parameter.value.placeholder) }
            values[parameter.name] = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        if !missing.isEmpty { note(self.missing(missing, command)) }
        if let extra = rest.first {
            if fault == nil { stray = StrayArgument(command: command, word: extra) }
            note(unexpected(extra, command))
        }
    }

    private mutating func check(_ value: String, _ spec: ValueSpec, _ label: String) {
        if spec.allowed.isEmpty || spec.allowed.contains(value) { return }
        let hint: LocalizedMessage? = SpellingSuggestion.to(value, among: spec.allowed).map {
            "did you mean '\($0)'?"
        }
        note(usage("\(label) must be one of \(spec.allowed.joined(separator: ", "))", hint: hint))
    }

    // MARK: Faults

    private mutating func note(_ error: CredentialError) { if fault == nil { fault = error } }

    private func usage(_ message: LocalizedMessage, hint: LocalizedMessage? = nil) -> CredentialError {
        let place = command.map { "\($0.name) " } ?? ""
        return CredentialError(.usage, message, hint: hint ?? "credmgr \(place)--help")
    }

    private func missing(_ names: [String], _ command: CommandSpec) -> CredentialError {
        let hint = command.remedy(.missing(given: positionals), words)
        if names.count == 1 { return usage("\(names[0]) is missing", hint: hint) }
        let first = names.dropLast().joined(separator: ", ")
        return usage("\(first) and \(names[names.count - 1]) are missing", hint: hint)
    }

    /// The command that follows an unknown word: other programs have theirs below a word such as `auth`.
    private func following(_ word: String) -> String? {
        guard path.isEmpty, let place = words.firstIndex(of: word) else { return nil }
        var found: [String] = []
        for next in words[(place + 1)...] {
            guard !Self.isOption(next), table.contains(found + [next]) else { break }
            found.append(next)
        }
        return found.isEmpty ? nil : found.joined(separator: " ")
    }

    private func unknownCommand(_ word: String) -> CredentialError {
        if let command = following(word) {
            return usage(
                "unknown command '\(UntrustedText.shown(word, limit: 40))'",
                hint: "did you mean 'credmgr \(command)'?")
        }
        let nearest = SpellingSuggestion.to(word, among: table.nextWords(after: path))
        let written = (path + [UntrustedText.shown(word, limit: 40)]).joined(separator: " ")
        let meant: LocalizedMessage? = nearest.map {
            "did you mean 'credmgr \((path + [$0]).joined(separator: " "))'?"
        }
        return usage("unknown command '\(written)'", hint: meant)
    }

    private func unknownOption(_ written: String, _ value: String? = nil) -> CredentialError {
        let remedy = command?.remedy(.unknownOption(name: written, value: value), words)
        if let remedy {
            return usage("unknown option '\(UntrustedText.shown(written, limit: 40))'", hint: remedy)
        }
        let known = table.options(of: command)
        let nearest: LocalizedMessage? = SpellingSuggestion.to(written, among: known.map(\.written)).map {
            "did you mean '\($0)'?"
        }
        let isElsewhere =
            command == nil && table.commands.contains { $0.options.contains { $0.written == written } }
        var place: LocalizedMessage? = isElsewhere ? "put the options of a command after its name" : nil
        if command?.runsProgram == true, !positionals.isEmpty {
            place = "put '--' before the command to run: credmgr exec --help"
        }
        return usage("unknown option '\(UntrustedText.shown(written, limit: 40))'", hint: place ?? nearest)
    }

    /// An argument too many: if the command accepts no argument, it is most likely the account type.
    private func unexpected(_ word: String, _ command: CommandSpec) -> CredentialError {
        let mayBeType =
            command.parameters.isEmpty && values["type"] == nil && !Self.quoted(word).isEmpty
            && command.options.contains { $0.name == "type" }
        return usage(
            "unexpected argument\(Self.quoted(word))",
            hint: mayBeType ? "credmgr \(command.name) --type \(word)" : nil)
    }

    /// A stray argument is shown only when it looks like a word: it might be a redirected URL or a token.
    private static func quoted(_ word: String) -> String {
        word.utf8.count <= 40 && Identifier.isValid(word) ? " '\(word)'" : ""
    }
}
