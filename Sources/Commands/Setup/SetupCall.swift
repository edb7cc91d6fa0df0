import CredentialCore

/// A setting that another program keeps in a store of its own, and that only its commands change.
struct SetupCall: Sendable {
    /// The setting, as the record and the user see it: `sbx secret github`.
    let name: String
    /// The command that makes the setting.
    let making: [String]
    /// The command that removes the setting.
    let removing: [String]
    /// The command that lists the settings.
    let listing: [String]
    /// Whether the output of ``listing`` has the setting.
    let isListed: @Sendable (String) -> Bool
    /// Whether the record says that an earlier setup made it.
    var isKnown = false

    /// How long one command may take, in seconds.
    private static let seconds = 60

    /// Whether the setting is there.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the program is not installed, or does not list its settings.
    func isThere(_ programs: any ProcessPort) throws(CredentialError) -> Bool {
        isListed(try output(of: listing, programs))
    }

    /// Refuses to replace a setting that setup did not make.
    ///
    /// - Throws: ``ErrorCode/configuration``; as ``isThere(_:)``.
    func check(_ programs: any ProcessPort) throws(CredentialError) {
        guard try isThere(programs), !isKnown else { return }
        throw CredentialError(
            .configuration, "cannot set \(name): it exists and is not credmgr's",
            hint: LocalizedMessage(verbatim: ShellQuoting.line(removing)))
    }

    /// Makes the setting.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the program refuses, or does not list it then.
    func make(_ programs: any ProcessPort) throws(CredentialError) {
        _ = try output(of: making, programs)
        guard try isThere(programs) else {
            throw CredentialError(.inputOutput, "cannot set \(name): \(making.first ?? "") does not list it")
        }
    }

    /// Removes the setting.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove(_ programs: any ProcessPort) throws(CredentialError) { _ = try output(of: removing, programs) }

    private func output(of words: [String], _ programs: any ProcessPort) throws(CredentialError) -> String {
        guard let program = words.first, programs.isProgram(program) else {
            throw CredentialError(.inputOutput, "cannot set \(name): \(words.first ?? "") is not installed")
        }
        // A question of the program finds no input, and its reason reaches the error.
        let result = try programs.run(
            ["sh", "-c", #"exec 2>&1 </dev/null; exec "$@""#, "sh"] + words, seconds: Self.seconds)
        let text = String(decoding: result.output, as: UTF8.self)
        guard result.exitStatus == 0 else {
            let reason = text.split(whereSeparator: \.isNewline).last.map(String.init) ?? ""
            throw CredentialError(
                .inputOutput,
                "\(program) failed for \(name) (exit status \(result.exitStatus)): \(UntrustedText.shown(reason, limit: 200))"
            )
        }
        return text
    }
}
