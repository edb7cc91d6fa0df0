import Foundation

/// A KeePassXC database that is open to the Secret Service, and the settings that let KeePassXC run unattended.
struct KeePassXCDatabase {
    /// Both are ended by a newline when KeePassXC reads them.
    static let password = "private-database"

    /// The command that starts KeePassXC with the database; it reads the password from standard input.
    let arguments: [String]

    /// Makes the database in `folder` by KeePassXC's own tool.
    init(folder: String, environment: [String: String]) throws {
        let database = folder + "/test.kdbx"
        if !FileManager.default.fileExists(atPath: database) {
            try Self.make(database, folder: folder, environment: environment)
        }
        let settings = folder + "/keepassxc.ini"
        try """
        [General]
        ConfigVersion=2
        SingleInstance=false
        RememberLastDatabases=false
        OpenPreviousDatabasesOnStartup=false
        UpdateCheckMessageShown=true
        AutoSaveAfterEveryChange=true
        [FdoSecrets]
        Enabled=true
        ConfirmAccessItem=false
        ConfirmDeleteItem=false
        ShowNotification=false
        [GUI]
        CheckForUpdates=false
        ShowTrayIcon=false
        [Security]
        LockDatabaseIdle=false

        """.write(toFile: settings, atomically: true, encoding: .utf8)
        try "".write(toFile: folder + "/local.ini", atomically: true, encoding: .utf8)
        arguments = ["--config", settings, "--localconfig", folder + "/local.ini", "--pw-stdin", database]
    }

    /// The tool cannot name the group that the Secret Service may see, but it can export and import, and the
    /// exported text can name it.
    private static func make(_ database: String, folder: String, environment: [String: String]) throws {
        func tool(_ arguments: [String], _ passwords: Int) throws -> String {
            let input = String(repeating: password + "\n", count: passwords)
            let outcome = try ChildProcess("keepassxc-cli", arguments, environment: environment).run(input: input)
            guard outcome.exitStatus == 0 else {
                throw PrivateKeyring.Failure("keepassxc-cli: \(outcome.standardError)")
            }
            return outcome.standardOutput
        }
        let draft = folder + "/draft.kdbx"
        _ = try tool(["db-create", "-q", "--set-password", "-t", "100", draft], 2)
        var text = try tool(["export", "-q", "-f", "xml", draft], 1)
        guard let group = text.range(of: "<Group>"),
            let start = text.range(of: "<UUID>", range: group.upperBound..<text.endIndex),
            let end = text.range(of: "</UUID>", range: start.upperBound..<text.endIndex),
            let bytes = Data(base64Encoded: String(text[start.upperBound..<end.lowerBound])), bytes.count == 16,
            let meta = text.range(of: "</Meta>")
        else { throw PrivateKeyring.Failure("the exported database has no group") }
        let uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        text.insert(
            contentsOf: """
                <CustomData><Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key>
                <Value>{\(uuid.uuidString.lowercased())}</Value></Item></CustomData>
                """, at: meta.lowerBound)
        let edited = folder + "/draft.xml"
        try text.write(toFile: edited, atomically: true, encoding: .utf8)
        _ = try tool(["import", "-q", "--set-password", "-t", "100", edited, database], 2)
    }
}
