import CredentialCore

/// The actions of `setup` for one program: its edits, the call that proves them, and the notes for the user.
struct SetupPlan: Sendable {
    /// The edits, in order.
    var edits: [SetupEdit]
    /// The call of the program; `nil` if a call is not possible without a server or a desktop.
    var proof: Proof?
    /// The call that undoes the side effects of the proof: the units that it enables. It has no effect if there are
    /// no units.
    var undoing: [String] = []
    /// The further steps for the user, and the parts that are not proven.
    var notes: [LocalizedMessage] = []

    /// A call, and how its output tells whether the program was let in.
    struct Proof: Sendable {
        /// The program, for messages.
        let program: String
        /// The words of the call.
        let words: [String]
        /// The words of which the output holds one if the program was accepted; empty if the exit status shows it.
        var output: [String] = []
        /// For a call that asks a server for a missing object, and fails when the server let it in: the texts in
        /// the output when it was refused, or when the server was not reached.
        var refusals: [String]?

        /// Whether the program gets a token in this call, rather than only being configured for credmgr.
        var asksForToken = true

        /// How programs report the responses 401 and 403.
        static let refused = [" 401", " 403", "E401", "E403", "nauthorized", "orbidden", "denied"]

        /// Whether the program was let in.
        func isLetIn(_ text: String, exitStatus: Int32) -> Bool {
            let isSaid = output.isEmpty || output.contains { text.contains($0) }
            guard let refusals else { return exitStatus == 0 && isSaid }
            return (exitStatus == 0 || isSaid && !output.isEmpty) && !refusals.contains { text.contains($0) }
        }

        /// The line of the output that says why it was not let in: that of a refusal, else the last.
        func reason(in text: String) -> String? {
            let lines = text.split(whereSeparator: \.isNewline).filter { $0.contains { !$0.isWhitespace } }
            let told = lines.first { line in refusals?.contains { line.contains($0) } ?? false }
            return (told ?? lines.last).map { String($0.hasSuffix(".") ? $0.dropLast() : $0) }
        }
    }
}
