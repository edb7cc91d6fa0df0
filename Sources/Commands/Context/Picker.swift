import CommandLine
import CredentialCore

/// Asks for one of several by its number, its name, or a part of that: a part that fits several shows only these.
struct Picker {
    private let question: Message
    private let names: [String]

    /// How many are shown at a time.
    private static let limit = 15

    /// Makes a picker.
    ///
    /// - Parameters:
    ///   - question: the question, as a sentence.
    ///   - names: what there is to choose from, each as one line.
    init(_ question: Message, _ names: [String]) {
        self.question = question
        self.names = names
    }

    /// Asks until one is chosen.
    ///
    /// - Returns: the place of the chosen one.
    /// - Throws: ``ErrorCode/interrupted``, ``ErrorCode/cancelled``, ``ErrorCode/inputOutput``, as the console does.
    func pick(_ session: Session) throws(CredentialError) -> Int {
        session.notices.say(question)
        var shown = Array(names.indices)
        show(shown, session)
        while true {
            let answer = try session.context.console.ask("Its number or a part of its name: ", isSecret: false)
                .reveal()
            let wanted = answer.split(separator: " ").joined(separator: " ")
            if let place = names.firstIndex(of: wanted) { return place }
            if let number = Int(wanted), names.indices.contains(number - 1) { return number - 1 }
            let part = wanted.lowercased()
            let found = names.indices.filter { part.isEmpty || names[$0].lowercased().contains(part) }
            if found.count == 1 { return found[0] }
            if found.isEmpty {
                session.notices.say("No name has '\(ForeignText.shown(wanted, limit: 40))' in it.")
            } else {
                shown = found
            }
            show(shown, session)
        }
    }

    private func show(_ places: [Int], _ session: Session) {
        let digits = String(names.count).count
        for place in places.prefix(Self.limit) {
            let number = String(place + 1)
            let indent = String(repeating: " ", count: digits - number.count)
            session.notices.say("  \(indent)\(number)  \(ForeignText.shown(names[place]))")
        }
        let rest = places.count - Self.limit
        if rest > 0 { session.notices.say("  … and \(rest) more") }
    }
}
