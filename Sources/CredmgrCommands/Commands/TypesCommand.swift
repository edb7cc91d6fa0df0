import CredentialCore
import StrictJSON

/// `credmgr types`.
struct TypesCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let entries = try session.catalog.entries()
        if arguments.wantsJSON { return try session.print(.array(entries.map(json))) }
        if entries.isEmpty {
            session.notices.note("no account type is defined; credmgr types add or credmgr types import makes one")
            return
        }
        var table = Table(["TYPE", "ADAPTER", "GROUP", "CLIENT ID", "DEFINED IN"])
        for entry in entries {
            switch entry.type {
            case .success(let type):
                table.add([type.name, type.adapter, type.keychainGroup.name, type.clientID, entry.path])
            case .failure(let error):
                table.add([entry.name, "?", "?", "?", entry.path])
                session.notices.warning(error.message)
            }
            for path in entry.shadowed { session.notices.detail("\(path) is shadowed by \(entry.path)") }
        }
        try session.print(table)
    }

    private func json(_ entry: AccountTypeCatalog.Entry) -> JSONValue {
        var object = JSONObject()
        object["name"] = .string(entry.name)
        object["path"] = .string(entry.path)
        object["shadowed"] = JSONValue(entry.shadowed)
        let type = try? entry.type.get()
        object["adapter"] = JSONValue(type?.adapter)
        object["group"] = JSONValue(type?.keychainGroup.name)
        object["client_id"] = JSONValue(type?.clientID)
        object["error"] = if case .failure(let error) = entry.type { .string(error.message) } else { .null }
        return .object(object)
    }
}

/// `credmgr types show`.
struct TypesShowCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let definition = try session.catalog.definition(of: try arguments.required("name"))
        var json = definition.type.json
        // A secret that stands in the file itself is not shown.
        if json["client_secret"]?.string != nil { json["client_secret"] = "[redacted]" }
        if json["private_key"]?.string != nil { json["private_key"] = "[redacted]" }
        if arguments.wantsJSON {
            var object = JSONObject()
            object["name"] = .string(definition.type.name)
            object["path"] = .string(definition.path)
            for (name, value) in json.members { object[name] = value }
            return try session.print(.object(object))
        }
        session.notices.note("\(definition.type.name) is defined in \(definition.path)")
        let width = json.keys.map(\.count).max() ?? 0
        let lines = json.members.map { name, value in
            name + String(repeating: " ", count: width - name.count + 2)
                + ForeignText.shown(value.string ?? value.text(), limit: 1_000) + "\n"
        }
        try session.print(lines.joined())
    }
}

/// `credmgr types remove`.
struct TypesRemoveCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let name = try arguments.required("name")
        // A definition that cannot be read has no registration that could be found.
        let type = try? session.catalog.definition(of: name).type
        let paths = try session.catalog.remove(name)
        if let type { ClientRegistrar(session).end(type) }
        for path in paths {
            session.notices.note("removed \(path)")
        }
    }
}

/// `credmgr types import`.
struct TypesImportCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let path = try arguments.required("file")
        guard let file = try session.context.typeFiles.read(path) else {
            throw CredentialError(.usage, "there is no file \(ForeignText.shown(path))")
        }
        let name = try arguments.string("name").map { (name) throws(CredentialError) in
            try Name.checked(name, kind: "account type")
        }
        let type: AccountType
        let report: [String]
        if Self.isDefinition(file, path) {
            let stem = path.split(separator: "/").last.map { $0.hasSuffix(".json") ? $0.dropLast(5) : $0 } ?? ""
            type = try session.catalog.type(
                try Name.checked(name ?? String(stem), kind: "account type"), in: file, at: path)
            report = type.json.keys.map { "\($0): used" }
        } else {
            let outcome = try session.context.settings.importSettings(
                file.bytes, name: name, fix: arguments.flag("fix"), exact: arguments.flag("exact"), place: path)
            type = outcome.type
            report = outcome.report
        }
        try session.context.adapters.adapter(of: type).check(type)
        let written = try session.catalog.add(type, force: arguments.flag("force"))
        try session.print(report.map { $0 + "\n" }.joined())
        session.notices.note("account type \(type.name) is defined in \(written)")
    }

    /// Whether a file is a JSON definition, be it a broken one: settings of an app in JSON have keys of their own.
    private static func isDefinition(_ file: TypeFile, _ path: String) -> Bool {
        guard let keys = try? JSONValue.parse(file.bytes, dialect: .commented).object?.keys else {
            return path.hasSuffix(".json")
        }
        return !keys.contains { ["authURL", "clientID", "clientId"].contains($0) }
    }
}
