/// An `exec` that the small program has begun, and that the full one carries on when the token is to be replaced.
///
/// The small program becomes the full one (execve(2)), so that the command stays its child, and passes in these
/// words the state of the begun run. No word is secret.
package struct ExecHandover: Sendable, Hashable {
    /// The first word of such a command line.
    package static let command = "__exec"

    /// The process that runs the command.
    package var process: Int32
    /// The descriptor that holds the lock of the directory with the token's file.
    package var lock: Int32
    /// The name of that directory.
    package var directory: String
    /// The group of the account.
    package var group: String
    /// The type that the token is asked for under.
    package var type: String
    /// The account's id: if another account becomes the default meanwhile, the token is still this account's.
    package var account: String
    /// The words of the call.
    package var words: [String]

    /// Names the begun run.
    package init(
        process: Int32, lock: Int32, directory: String, group: String, type: String, account: String,
        words: [String]
    ) {
        self.process = process
        self.lock = lock
        self.directory = directory
        self.group = group
        self.type = type
        self.account = account
        self.words = words
    }

    /// Reads ``commandLine``; `nil` for other words.
    package init?(_ words: [String]) {
        guard words.count > 7, let process = Self.process(in: words), let lock = Int32(words[2]) else { return nil }
        self.init(
            process: process, lock: lock, directory: words[3], group: words[4], type: words[5], account: words[6],
            words: Array(words[7...]))
    }

    /// The process of such a command line, even if the rest is of another version; `nil` for other words.
    package static func process(in words: [String]) -> Int32? {
        guard words.count > 1, words[0] == command, let process = Int32(words[1]), process > 0 else { return nil }
        return process
    }

    /// The words behind the full program's name.
    package var commandLine: [String] {
        [Self.command, String(process), String(lock), directory, group, type, account] + words
    }
}
