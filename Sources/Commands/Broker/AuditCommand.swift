import Broker
import CommandLine
import CredentialCore
import Platform
import StrictJSON

/// `credmgr audit`.
struct AuditCommand: Command {
    static let spec = CommandSpec(
        ["audit"], "print the audit log of brokers",
        details: """
            Prints a line for each event of a broker: start, issue, deny, ask, answer, refresh and stop. An option that is \
            given several times accepts each of its values. It never prints a token.
            """,
        options: [since, until, AuditOption.broker, account, origin, caller, what, json, follow],
        examples: [
            .init("the tokens that were released today", "credmgr audit --since 24h --what issue"),
            .init("refusals as they happen", "credmgr audit --what deny --follow"),
        ], exitStatuses: [130])

    private static let since = Option.value("since", .any("TIME"), "only lines from this time, or age, on")
    private static let until = Option.value("until", .any("TIME"), "only lines before this time, or age")
    private static let account = Option.list("account", .any("ID"), "only lines of this account")
    private static let origin = Option.list("origin", .any("ORIGIN"), "only lines of this origin")
    private static let caller = Option.list(
        "caller", .any("CALLER"), "only lines of this program, process ID or kind of key")
    private static let what = Option.list(
        "what", .choice("WHAT", AuditEvent.What.allCases.map(\.rawValue)), "only lines of this kind")
    private static let json = Option.flag("json", "print a JSON object per line")
    private static let follow = Option.flag("follow", short: "f", "wait for more lines until you press Ctrl-C")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        var filter = AuditFilter()
        filter.since = try AuditOption.time(arguments[Self.since], "since", session)
        filter.until = try AuditOption.time(arguments[Self.until], "until", session)
        filter.accounts = arguments[Self.account]
        filter.origins = arguments[Self.origin]
        filter.callers = arguments[Self.caller]
        filter.kinds = arguments[Self.what]
        let logs = session.context.brokerRecords.auditLogs
        let isFollowing = arguments[Self.follow]
        if isFollowing { InterruptExit.install() }
        var sources: [Source] = []
        while true {
            for name in try AuditOption.brokers(arguments, logs)
            where !sources.contains(where: { $0.broker == name }) {
                sources.append(Source(broker: name, lines: try logs.lines(of: name)))
            }
            if sources.isEmpty, !isFollowing { session.notices.note("no broker has an audit log") }
            try print(&sources, filter, session)
            guard isFollowing else { return }
            // Lines that no watch reports, as on a network file system, are found after this time.
            guard try logs.wait(milliseconds: 2_000) else { return }
        }
    }

    /// The lines of one broker, and the next one of them.
    private struct Source {
        let broker: String
        let lines: any AuditLines
        var next: (json: JSONObject, bytes: [UInt8])?

        /// Takes the next line that is JSON; a cut line is reported by `audit verify`.
        mutating func advance() throws(CredentialError) {
            next = nil
            while let line = try lines.next() {
                guard let json = (try? JSONValue.parse(line))?.object else { continue }
                next = (json, line)
                return
            }
        }

        var time: String { next?.json["t"]?.string ?? "" }
    }

    /// Prints the lines of the sources, the earliest line first.
    private func print(_ sources: inout [Source], _ filter: AuditFilter, _ session: CommandSession)
        throws(CredentialError)
    {
        for index in sources.indices { try sources[index].advance() }
        while let first = sources.indices.filter({ sources[$0].next != nil }).min(by: {
            sources[$0].time < sources[$1].time
        }),
            let line = sources[first].next
        {
            if filter.accepts(line.json) {
                try session.print(
                    arguments.wantsJSON ? JSONValue.object(line.json).text() + "\n" : Self.text(line.json))
            }
            try sources[first].advance()
        }
    }

    private static func text(_ line: JSONObject) -> String {
        let caller = line["caller"]?.object.map { caller in
            let name = caller["exe"]?.string ?? caller["key"]?.string ?? "-"
            return "\(name) (pid \(caller["pid"]?.integer ?? 0), uid \(caller["uid"]?.integer ?? 0))"
        }
        let parts: [String?] = [
            line["t"]?.string, line["broker"]?.string, line["what"]?.string, line["entry"]?.string,
            line["account"]?.string, line["origin"]?.string, caller, line["reason"]?.string, line["why"]?.string,
        ]
        return parts.compactMap { $0.map { UntrustedText.shown($0) } }.joined(separator: "  ") + "\n"
    }
}

/// The options that the commands of the audit log share.
enum AuditOption {
    static let broker = Option.list("broker", .any("NAME"), "only this broker")

    /// Reads a time: RFC 3339 in UTC, a date, or an age such as `24h`.
    ///
    /// - Returns: the text that compares with the times of the log.
    /// - Throws: ``ErrorCode/usage``.
    static func time(
        _ text: String?, _ option: String, _ session: CommandSession
    ) throws(CredentialError) -> String? {
        guard let text else { return nil }
        if let seconds = DurationText.seconds(text) {
            return AuditTime.text(milliseconds: session.context.clock.now.adding(-seconds).epochSeconds * 1_000)
        }
        guard let time = Timestamp(rfc3339: text) ?? Timestamp(rfc3339: text + "T00:00:00Z") else {
            throw CredentialError(
                .usage, "--\(option) takes a time such as 2026-11-26T10:00:00Z, 2026-11-26 or 24h")
        }
        return AuditTime.text(milliseconds: time.epochSeconds * 1_000)
    }

    /// The brokers that options name; all with a log if the options name no broker.
    ///
    /// - Throws: ``ErrorCode/usage`` for a name that is not valid; ``ErrorCode/inputOutput``.
    static func brokers(
        _ arguments: Arguments, _ logs: any AuditLogs
    ) throws(CredentialError) -> [String] {
        var names: [String] = []
        for name in arguments[broker] { names.append(try BrokerFiles.checked(name)) }
        return names.isEmpty ? try logs.brokers() : names
    }
}
