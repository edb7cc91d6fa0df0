import Broker
import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr audit verify`.
struct AuditVerifyCommand: Command {
    static let spec = CommandSpec(
        ["audit", "verify"], "verify the audit log of brokers",
        details: """
            Checks that no line was changed, added or removed: each line has the digest of the line before. It exits with 1 \
            and names file and line if the log is not valid. Lines before the first and after the last one cannot be \
            checked: compare the last line with an earlier 'credmgr audit head'.
            """,
        options: [AuditOption.broker, SharedOption.json], exitStatuses: [1])

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let logs = session.context.brokerRecords.auditLogs
        let names = try AuditOption.brokers(arguments, logs), existing = try logs.brokers()
        var results: [JSONValue] = [], failures: [CredentialError] = []
        for name in names {
            do throws(CredentialError) {
                guard existing.contains(name) else {
                    throw CredentialError(.problemsFound, "broker \(name) has no audit log")
                }
                let result = try logs.verify(name)
                let first = result.count == 0 ? 0 : result.number - result.span + 1
                results.append([
                    "broker": .string(name), "lines": .integer(result.count), "first": .integer(first),
                    "last": .integer(result.number), "head": .string(result.head),
                ])
                if !arguments.wantsJSON {
                    try session.print("\(name)  \(result.count)  \(first)-\(result.number)  \(result.head)\n")
                }
            } catch {
                failures.append(error)
            }
        }
        try session.fail(with: failures)
        if arguments.wantsJSON { try session.print(.array(results)) }
    }
}

/// `credmgr audit head`.
struct AuditHeadCommand: Command {
    static let spec = CommandSpec(
        ["audit", "head"], "print the last number and digest of audit logs",
        details: """
            Prints the name of each broker, the number of the last line and its digest. Keep the output on another machine: \
            a log that was rewritten since then has no line with this number and digest.
            """,
        options: [AuditOption.broker, SharedOption.json])

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let logs = session.context.brokerRecords.auditLogs
        var results: [JSONValue] = []
        for name in try AuditOption.brokers(arguments, logs) {
            let head = try logs.head(of: name)
            results.append([
                "broker": .string(name), "n": .integer(head.number), "head": .string(head.digest),
            ])
            if !arguments.wantsJSON { try session.print("\(name)  \(head.number)  \(head.digest)\n") }
        }
        if arguments.wantsJSON { try session.print(.array(results)) }
    }
}

/// `credmgr audit prune`.
struct AuditPruneCommand: Command {
    static let spec = CommandSpec(
        ["audit", "prune"], "remove old lines of the audit log",
        details: """
            Removes the lines that are older than 90 days, and the oldest lines beyond 64 MB. With --older it removes the \
            lines of that age and no others. The last line always stays. A running broker goes on writing.
            """,
        options: [AuditOption.broker, older])

    private static let older = Option.time("older", atLeast: 0, "remove the lines that are older than this")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let logs = session.context.brokerRecords.auditLogs
        try session.each(of: try AuditOption.brokers(arguments, logs)) { (name) throws(CredentialError) in
            let removed = try logs.prune(name, olderThan: arguments[Self.older])
            session.notices.note("removed \(removed) bytes of the audit log of broker \(name)")
        }
    }
}
