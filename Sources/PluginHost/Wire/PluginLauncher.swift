package import CredentialCore
package import Platform

/// Runs a plugin's executable for one operation: confined to the access that its manifest asks for, in a neutral
/// directory. It gets a cleaned environment, no descriptor of ours, and limits of time and size. All that it
/// started ends with it.
package struct PluginLauncher: Sendable {
    /// Variables that a plugin may see, in addition to those that begin with `LC_`.
    private static let allowed: Set<String> = [
        "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
    ]
    private static let standardPath = "/usr/local/bin:/usr/bin:/bin"
    /// Variables that name certificates to trust in addition to the system's, so a plugin may read them.
    private static let certificates = ["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"]

    /// The environment of a plugin.
    package let environment: [String: String]
    private let walls: SandboxPolicy
    /// The time of one operation in seconds.
    package let seconds: Int

    /// Makes a launcher.
    ///
    /// - Parameter environment: the environment of this process.
    package init(
        environment: [String: String], walls: SandboxPolicy, seconds: Int = PluginProtocol.seconds
    ) {
        var kept = environment.filter { Self.allowed.contains($0.key) || $0.key.hasPrefix("LC_") }
        // Entries that are not absolute would depend on the folder that it runs in.
        let path = (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
        kept["PATH"] = path.isEmpty ? Self.standardPath : path.joined(separator: ":")
        self.environment = kept
        self.walls = walls
        self.seconds = seconds
    }

    /// The confinement of `provider`.
    ///
    /// - Throws: ``ErrorCode/configuration`` when the user's configuration is not valid.
    package func confinement(of provider: InstalledPlugin) throws(CredentialError) -> SandboxProfile {
        let needs = provider.manifest.needs
        if try walls.isLifted(provider.manifest.name) {
            return SandboxProfile(memory: needs.memory, isLifted: true)
        }
        var confinement = needs.confinement(home: environment["HOME"], keptOut: walls.keptOut)
        confinement.readable += Self.certificates.compactMap { environment[$0] }.filter { $0.hasPrefix("/") }
        return confinement
    }

    /// Runs `provider` with `input` until it ends, successfully or not.
    ///
    /// - Parameter timeout: a shorter time than the usual one, in seconds.
    /// - Throws: ``ErrorCode/configuration`` when it cannot be started, or there is no supervisor.
    package func run(
        _ provider: InstalledPlugin, _ input: [UInt8], within timeout: Int? = nil
    ) throws(CredentialError) -> ChildProgram.Outcome {
        let program = try walls.confinedProgram()
        let confinement = try confinement(of: provider)
        do throws(CredentialError) {
            return try program.run(
                SpawnConfiguration(provider.program, environment: environment), in: confinement, input: input,
                limit: PluginProtocol.outputLimit, seconds: limit(timeout))
        } catch {
            throw CredentialError(
                .configuration, "the plugin \(provider.manifest.name) does not start: \(error)",
                hint: hint(for: error, of: provider), details: error.details)
        }
    }

    /// The remedy for a start that failed.
    private func hint(for error: CredentialError, of provider: InstalledPlugin) -> LocalizedMessage {
        if let hint = error.advice { return hint }
        guard error.code == .configuration, let path = error.details.first else {
            return "check that the interpreter in its first line is in /usr"
        }
        if let variable = Self.certificates.first(where: { environment[$0] == path }) {
            return "set \(variable) to certificates in another directory"
        }
        let manifest = UntrustedText.shown("\(provider.path)/\(InstalledPlugin.manifestName)", limit: 4_096)
        return "remove this path from \"needs\" in \(manifest)"
    }

    /// Asks `provider` and gives its final reply.
    ///
    /// - Parameters:
    ///   - timeout: a shorter time than the usual one, in seconds.
    ///   - note: takes the plugin's other output, redacted, for `--verbose`.
    /// - Throws: ``ErrorCode/temporary`` when it takes too long; ``ErrorCode/malformedReply`` when it breaks the
    ///   protocol; the error that it replies.
    func ask(
        _ provider: InstalledPlugin, _ request: PluginRequest, within timeout: Int?, note: (String) -> Void
    ) throws(CredentialError) -> PluginReply {
        let name = provider.manifest.name
        let outcome = try run(provider, request.bytes, within: timeout)
        let transcript = PluginTranscript(outcome.output, plugin: name)
        let redactor = Redactor(request.secrets + transcript.texts)
        for line in outcome.errorOutput.split(separator: 0x0A).prefix(PluginProtocol.lineLimit) {
            let text = redactor.shown(String(decoding: line, as: UTF8.self))
            if !text.isEmpty { note("\(name): \(text)") }
        }
        switch outcome.ending {
        case .timedOut:
            throw CredentialError(
                .temporary,
                "the plugin \(name) did not respond to '\(request.operation)' within \(limit(timeout)) s",
                hint: "credmgr adapters test \(name)")
        case .left(let supervisor): throw PluginError.remaining(name, supervisor)
        case .outputTooLarge:
            throw transcript.fault("printed more than \(PluginProtocol.outputLimit) bytes")
        case .ended(.killed(let signal)): throw transcript.fault("was ended by signal \(signal)")
        case .ended(.exited(let status)) where status != 0:
            throw transcript.fault("ended with status \(status)")
        case .ended: break
        }
        let reply = try transcript.reply(version: provider.protocolVersion) {
            note("\(name): \(redactor.shown($0))")
        }
        if reply.kind == .error { throw try PluginError.error(reply, plugin: name, redactor) }
        return reply
    }

    private func limit(_ timeout: Int?) -> Int { min(seconds, timeout ?? seconds) }
}
