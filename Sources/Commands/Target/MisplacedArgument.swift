import CommandLine
import CredentialCore

/// A word that a command has no place for: most likely the name of an account type or of an account.
struct MisplacedArgument {
    private let word: String

    init(_ word: String) { self.word = word }

    /// The command line that has a place for it; `nil` if it is neither a type nor an account that this machine has
    /// seen. A word that is neither is not shown: it may be a token.
    ///
    /// - Parameter command: the command, which takes `--type` or `--account`.
    func hint(for command: CommandSpec, _ context: CommandContext) -> LocalizedMessage? {
        guard let option = option(context), command.options.contains(where: { $0.written == option }) else {
            return nil
        }
        let words = ["credmgr"] + command.path + [option, UntrustedText.shown(word, limit: 200)]
        return LocalizedMessage(verbatim: ShellQuoting.line(words))
    }

    /// Whether it looks like the name of a host, and not like a token.
    var isHost: Bool {
        let labels = word.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let last = labels.last, (2...24).contains(last.utf8.count),
            last.utf8.allSatisfy(Self.isLetter)
        else { return false }
        return labels.allSatisfy { label in
            (1...40).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { Self.isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }

    private func option(_ context: CommandContext) -> String? {
        if Identifier.isValid(word), (try? context.machine.catalog.isDefined(word)) == true { return "--type" }
        for group in (try? context.records.groups()) ?? [] {
            guard let index = try? context.records.seenIndex(of: group, .none) else { continue }
            if index.matches(for: word, of: nil).first != nil { return "--account" }
        }
        return nil
    }
}
