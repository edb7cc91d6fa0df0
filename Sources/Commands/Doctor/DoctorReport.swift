import CredentialCore

/// The findings as text for a bug report, without the names of people and accounts, and without the home folder.
struct DoctorReport {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// The report.
    func text(_ findings: [Diagnostic]) -> String {
        var redaction = Redaction()
        let environment = session.context.environment
        for group in (try? session.context.records.groups()) ?? [] {
            for account in (try? session.context.records.index(of: group, .none))?.entries ?? [] {
                let names = [account.username, account.displayName, account.label, account.subject]
                for name in names.compactMap(\.self) { redaction.hide(name, as: "[account]") }
                redaction.hide(account.id, as: "[account id]")
            }
        }
        if let home = GlobalOptions.set("HOME", environment) { redaction.hide(home, as: "~") }
        for variable in ["USER", "LOGNAME"] {
            if let name = GlobalOptions.set(variable, environment) { redaction.hide("/\(name)/", as: "/[user]/") }
        }
        var lines = ["credmgr \(Program.version)"]
        lines.append("kernel \(line("/proc/sys/kernel/osrelease") ?? "unknown")")
        lines.append(release ?? "unknown system")
        for variable in ["XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "CREDMGR_STORE", "CREDMGR_CACHE"] {
            if let value = GlobalOptions.set(variable, environment) { lines.append("\(variable)=\(value)") }
        }
        for finding in findings {
            lines.append("[\(finding.state.rawValue)] \(finding.check): \(finding.message)")
            if finding.state != .ok, let remedy = finding.remedy { lines.append("    \(remedy)") }
        }
        return lines.map { UntrustedText.shown(redaction.applied(to: $0), limit: 2_000) + "\n" }.joined()
    }

    private var release: String? {
        let prefix = "PRETTY_NAME="
        return lines("/etc/os-release").first { $0.hasPrefix(prefix) }.map { line in
            String(line.dropFirst(prefix.count).filter { $0 != "\"" })
        }
    }

    private func line(_ path: String) -> String? { lines(path).first }

    private func lines(_ path: String) -> [String] {
        guard let file = try? session.context.typeFiles.read(path) else { return [] }
        return String(decoding: file.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// Words that must not be shown, and their replacements.
package struct Redaction: Sendable {
    private var words: [(word: [UInt8], mask: String)] = []

    /// Hides nothing yet.
    package init() {}

    /// Hides a word of at least two bytes at every occurrence; longer words are looked for first.
    package mutating func hide(_ word: String, as mask: String) {
        guard word.utf8.count > 1 else { return }
        words.append((Array(word.utf8), mask))
        words.sort { $0.word.count > $1.word.count }
    }

    /// `text` with every word hidden.
    package func applied(to text: String) -> String {
        var rest = Array(text.utf8)[...]
        var result: [UInt8] = []
        while let byte = rest.first {
            if let match = words.first(where: { rest.starts(with: $0.word) }) {
                result += Array(match.mask.utf8)
                rest = rest.dropFirst(match.word.count)
            } else {
                result.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
