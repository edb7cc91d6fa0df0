internal import StrictJSON

/// Tells which definitions of account types the user has confirmed (docs/decisions/0031).
///
/// The user's own definitions are trusted: those that the user wrote into the user's own directory, by hand, by
/// `types add` or by a program. So are those whose directory root owns, and those whose SHA-256 is in
/// `trusted.json`. A definition that `types import` wrote is unconfirmed while its SHA-256 is the one in
/// `imported.json`.
package struct DefinitionTrust: Sendable {
    private let catalog: AccountTypeCatalog
    private let typeFiles: any DefinitionStore
    private let cryptography: any Cryptography
    private let clock: any WallClock
    private let isProgramsOwn: @Sendable (String) -> Bool
    private let folder: String

    /// Prepares the look.
    package init(_ machine: MachinePorts) {
        catalog = machine.catalog
        typeFiles = machine.typeFiles
        cryptography = machine.cryptography
        clock = machine.clock
        isProgramsOwn = { [ownType = machine.ownType] in ownType($0) != nil }
        let place = machine.configurationFile
        folder = String(place[..<(place.lastIndex(of: "/") ?? place.endIndex)])
    }

    /// The file of the confirmations, `SHA-256: name`.
    package var trustedFile: String { folder + "/trusted.json" }
    /// The file of the imports, `name: {sha256, imported_at}`.
    private var importedFile: String { folder + "/imported.json" }

    /// The files that decide which definitions are confirmed, beside the definitions.
    package var files: [String] { [trustedFile, importedFile] }

    // MARK: Looking

    /// Whether the definition of a name is confirmed. One that cannot be looked at is not.
    package func isConfirmed(_ name: String) -> Bool {
        do throws(CredentialError) {
            if isProgramsOwn(name) { return true }
            guard let (path, file) = try catalog.file(of: name) else { return true }
            let digest = try digest(file.bytes)
            if try object(at: trustedFile)[digest] != nil { return true }
            guard catalog.isOwn(path) else { return typeFiles.isOfRoot(path) }
            return try imports()[name]?.digest != digest
        } catch { return false }
    }

    /// Whether a definition may decide the destinations of an account's tokens: it is confirmed, or the account was
    /// signed in under it.
    package func mayDirect(_ account: Account, by name: String) -> Bool {
        if isConfirmed(name) { return true }
        guard account.type == name else { return false }
        // An import may have taken the place of the definition that the account was signed in under.
        do throws(CredentialError) {
            guard let place = try imports()[name] else { return true }
            return account.createdAt >= place.at
        } catch { return false }
    }

    /// Refuses a definition that may not decide the destinations of an account's tokens.
    ///
    /// - Throws: ``ErrorCode/denied``, naming the definition and the command that confirms it.
    package func check(_ account: Account, by name: String, for place: String) throws(CredentialError) {
        if mayDirect(account, by: name) { return }
        let refusal = Self.refusal(account, by: name, place)
        throw CredentialError(.denied, refusal.text, hint: refusal.advice)
    }

    /// Why a token does not go to a place that only an unconfirmed definition names.
    static func refusal(_ account: Account, by name: String, _ place: String) -> TokenDestinationPolicy.Refusal {
        TokenDestinationPolicy.Refusal(
            """
            account type \(name) is not confirmed, and no other type allows \
            \(UntrustedText.shown(place, limit: 200)): credmgr sends no tokens of \
            \(UntrustedText.shown(account.shownName)) (\(account.id)), signed in under \(account.type), to this \
            destination
            """, hint: LocalizedMessage(verbatim: "credmgr types trust \(ShellQuoting.word(name))"), isOfTrust: true
        )
    }

    // MARK: Confirming

    /// Confirms the definition of a name as it is now.
    ///
    /// - Throws: as ``AccountTypeCatalog/definition(of:)``; ``ErrorCode/configuration`` for a file of confirmations
    ///   that is damaged; ``ErrorCode/inputOutput``.
    package func confirm(_ name: String) throws(CredentialError) {
        guard let (_, file) = try catalog.file(of: name) else { return }
        var trusted = try object(at: trustedFile)
        trusted[try digest(file.bytes)] = .string(name)
        try write(trusted, to: trustedFile)
    }

    /// Notes that the definition of a name was imported, before its file is written.
    ///
    /// - Parameter bytes: the file.
    /// - Throws: as ``confirm(_:)``.
    func noteImport(of name: String, _ bytes: [UInt8]) throws(CredentialError) {
        try note(Import(digest: try digest(bytes), at: clock.now), of: name)
    }

    /// Keeps a definition unconfirmed that a command changes, before its file is written.
    ///
    /// - Throws: as ``confirm(_:)``.
    func follow(_ name: String, _ bytes: [UInt8]) throws(CredentialError) {
        guard !isConfirmed(name) else { return }
        // One of another program's folder was never imported: accounts that were signed in under it stay under it.
        let at = try imports()[name]?.at ?? Timestamp(epochSeconds: 0)
        try note(Import(digest: try digest(bytes), at: at), of: name)
    }

    /// Forgets that the definition of a name was imported: the user has written or removed it.
    ///
    /// - Throws: as ``confirm(_:)``.
    func forgetImport(of name: String) throws(CredentialError) {
        var all = try object(at: importedFile)
        guard all[name] != nil else { return }
        all[name] = nil
        try write(all, to: importedFile)
    }

    // MARK: The files

    private struct Import {
        let digest: String
        let at: Timestamp
    }

    private func imports() throws(CredentialError) -> [String: Import] {
        var imports: [String: Import] = [:]
        for (name, value) in try object(at: importedFile).members {
            guard let digest = value.object?["sha256"]?.string, let at = value.object?["imported_at"]?.integer
            else {
                throw Self.damaged(importedFile)
            }
            imports[name] = Import(digest: digest, at: Timestamp(epochSeconds: at))
        }
        return imports
    }

    private func note(_ place: Import, of name: String) throws(CredentialError) {
        var all = try object(at: importedFile)
        var entry = JSONObject()
        entry["sha256"] = .string(place.digest)
        entry["imported_at"] = .integer(place.at.epochSeconds)
        all[name] = .object(entry)
        try write(all, to: importedFile)
    }

    private func object(at path: String) throws(CredentialError) -> JSONObject {
        guard let file = try typeFiles.read(path) else { return JSONObject() }
        guard let object = (try? JSONValue.parse(file.bytes, dialect: .commented))?.object else {
            throw Self.damaged(path)
        }
        return object
    }

    private func write(_ object: JSONObject, to path: String) throws(CredentialError) {
        try typeFiles.write(JSONValue.object(object).bytes(.indented) + [UInt8(ascii: "\n")], to: path)
    }

    private static func damaged(_ path: String) -> CredentialError {
        CredentialError(
            .configuration, "\(UntrustedText.shown(path, limit: 4_096)) is damaged",
            hint: "move the file away, and confirm the definitions again: credmgr types trust --help")
    }

    private func digest(_ bytes: [UInt8]) throws(CredentialError) -> String {
        let digits = Array("0123456789abcdef")
        return String(try cryptography.sha256(bytes).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
