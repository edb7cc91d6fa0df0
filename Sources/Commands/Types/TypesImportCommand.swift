import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr types import`.
struct TypesImportCommand: Command {
    static let spec = CommandSpec(
        ["types", "import"], "import an account type from a file",
        details: """
            Reads a settings.plist of the Azure AD B2C samples or a JSON definition, writes it as an account type \
            and prints the result for each key.

            Shows each command, file and variable of the definition with the destination of its content. Also \
            shows the accounts that the type sees and the origins that their tokens may go to. Commands, files, \
            variables and a proxy require --trust or a yes on a terminal. The API origins of an unconfirmed \
            definition get no tokens of accounts that were signed in under another type; 'types trust' confirms \
            the definition later.
            """,
        parameters: [file],
        options: [name, fix, exact, trust, force, SharedOption.json],
        exitStatuses: [7])

    private static let file = Parameter.required("file", .file, "the file to read")
    private static let name = Option.value(
        "name", .any("NAME"), "the name of the new type; default: the name in the file")
    private static let fix = Option.flag("fix", "fix known errors of such files")
    private static let exact = Option.flag("exact", "import the file without changes")
    private static let trust = Option.flag("trust", "confirm the definition and everything that it uses")
    private static let force = Option.flag("force", "replace an existing definition")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let (type, report) = try read(session)
        let (written, reach) = try write(type, session)
        if arguments.wantsJSON {
            var object = JSONObject()
            object["type"] = .string(type.name)
            object["file"] = .string(written)
            object["report"] = JSONValue(report.map(\.description))
            for (key, value) in reach.json { object[key] = value }
            try session.print(.object(object))
        } else {
            try session.print(report.map { session.shown($0) + "\n" }.joined())
        }
        session.notices.note("account type \(type.name) is defined in \(written)")
        try tellGroup(of: type, session)
    }

    /// Reads the file.
    ///
    /// - Returns: the type, and the outcome for each key.
    /// - Throws: ``ErrorCode/usage`` if there is no file, or the name is taken; ``ErrorCode/configuration``.
    func read(_ session: CommandSession) throws(CredentialError) -> (type: AccountType, report: [LocalizedMessage])
    {
        let path = arguments[Self.file]
        guard let file = try session.context.typeFiles.read(path) else {
            throw CredentialError(.usage, "there is no file \(UntrustedText.shown(path))")
        }
        let name = try arguments[Self.name].map { (name) throws(CredentialError) in
            try Identifier.checked(name, kind: .accountType)
        }
        var type: AccountType
        let report: [LocalizedMessage]
        if AccountTypeCatalog.isDefinition(file, at: path) {
            let stem = path.split(separator: "/").last.map { $0.hasSuffix(".json") ? $0.dropLast(5) : $0 } ?? ""
            type = try session.catalog.type(
                try Identifier.checked(name ?? String(stem), kind: .accountType), in: file, at: path)
            report = try session.catalog.keys(in: file, at: path).map { "\($0): used" }
        } else {
            let outcome = try session.context.settings.importSettings(
                file.bytes, name: name, fix: arguments[Self.fix], exact: arguments[Self.exact], place: path)
            type = outcome.type
            report = outcome.report
        }
        try session.context.adapters.adapter(of: type).check(type)
        try session.catalog.checkFree(type.name, force: arguments[Self.force])
        ExplicitEndpoints(session).leaveOut(of: &type, isTrusted: arguments[Self.trust])
        return (type, report)
    }

    /// Writes the definition, confirmed if the user confirms it.
    ///
    /// - Returns: the file, and the reach of the type.
    func write(_ type: AccountType, _ session: CommandSession) throws(CredentialError) -> (String, DefinitionReach)
    {
        let reach = DefinitionReach(of: type, session)
        var isTrusted = arguments[Self.trust]
        let unconfirmed = isTrusted ? [] : reach.needingTrust
        reach.tell(session, besides: unconfirmed)
        if !unconfirmed.isEmpty {
            try DefinitionReach.confirm(
                unconfirmed, of: type.name,
                again: LocalizedMessage(
                    verbatim: arguments.commandLine(adding: [Self.trust.spec.written], quoting: ShellQuoting.word)),
                session)
            isTrusted = true
        }
        let written = try session.definitions.put(type, force: arguments[Self.force], by: .imported)
        if isTrusted { try session.context.machine.trust.confirm(type.name) }
        return (written, reach)
    }

    /// Says which types of the same client share no sign-in with the new one.
    private func tellGroup(of type: AccountType, _ session: CommandSession) throws(CredentialError) {
        for other in try session.catalog.strangers(to: type, session.context.adapters) {
            session.notices.note(
                "\(other.name) (group \(other.keychainGroup)) and \(type.name) (group \(type.keychainGroup)) have "
                    + "the same client but do not share accounts; to share them: "
                    + "credmgr types set \(type.name) keychain_group=\(other.keychainGroup)")
        }
    }
}
