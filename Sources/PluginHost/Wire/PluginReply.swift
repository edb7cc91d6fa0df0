package import CredentialCore
package import StrictJSON

/// The final reply of a plugin, not read further yet.
package struct PluginReply: Sendable {
    /// The kind of a reply.
    package enum Kind: String, Sendable, CaseIterable {
        /// The description of the plugin.
        case description
        /// A person is needed.
        case interaction
        /// The operation is done.
        case done
        /// It failed.
        case error
        /// A line for `--verbose`; never the final reply.
        case note
    }

    /// The kind of the reply.
    package let kind: Kind
    /// Its members.
    package let members: JSONObject
    let reader: FieldReader
}

/// The output of a plugin on standard output.
package struct PluginTranscript: Sendable {
    private let plugin: String
    private let lines: [Result<JSONValue, JSONError>]
    private let isTooLong: Bool

    /// Splits the output into lines; empty ones do not count.
    package init(_ output: [UInt8], plugin: String) {
        self.plugin = plugin
        let texts = output.split(separator: 0x0A).filter { line in line.contains { $0 != 0x20 && $0 != 0x0D } }
        isTooLong = texts.count > PluginProtocol.lineLimit
        lines = texts.prefix(PluginProtocol.lineLimit).map { line in
            do throws(JSONError) { return .success(try JSONValue.parse(Array(line))) } catch {
                return .failure(error)
            }
        }
    }

    /// Every string in it that may be a secret.
    var texts: [String] {
        lines.compactMap { try? $0.get().object }.flatMap { object in
            ["tokens", "pending", "state"].compactMap { object[$0] }.flatMap(PluginRequest.texts)
        }
    }

    /// The final reply, after its notes.
    ///
    /// - Throws: ``ErrorCode/malformedReply`` unless there is exactly one final reply, in the last line, and every
    ///   line is of `version`.
    package func reply(
        version: Int64, note: (String) -> Void = { _ in }
    ) throws(CredentialError) -> PluginReply {
        if isTooLong { throw fault("printed more than \(PluginProtocol.lineLimit) lines") }
        var final: PluginReply?
        for line in lines {
            if final != nil { throw fault("printed data after its final response") }
            let reply = try read(line, version: version)
            if reply.kind == .note {
                if let text = try reply.reader.text("text", limit: 4_096) { note(text) }
            } else {
                final = reply
            }
        }
        guard let final else { throw fault("ended without a response") }
        return final
    }

    private func read(
        _ line: Result<JSONValue, JSONError>, version: Int64
    ) throws(CredentialError) -> PluginReply {
        let value: JSONValue
        switch line {
        case .success(let parsed): value = parsed
        case .failure(let error): throw fault("printed a line that is not JSON: \(error.reason.text)")
        }
        guard let members = value.object else { throw fault("printed \(value.kind), not an object") }
        let reader = FieldReader(members, code: .malformedReply, place: "the response of the plugin \(plugin)")
        guard let theirs = try reader.integer("version", in: 0...Int64.max) else {
            throw reader.fault("version", "is missing")
        }
        let word = try reader.requiredText("reply", limit: 64)
        guard let kind = PluginReply.Kind(rawValue: word) else {
            throw reader.fault("reply", "has the unknown value '\(UntrustedText.shown(word, limit: 40))'")
        }
        // A plugin that does not speak the version of the request can only report that in a version of its own.
        let isRefusal = kind == .error && members["code"] == .string(PluginError.Code.unsupportedVersion.rawValue)
        guard theirs == version || isRefusal else {
            throw fault("responded in version \(theirs) of the protocol to a request in version \(version)")
        }
        return PluginReply(kind: kind, members: members, reader: reader)
    }

    func fault(_ what: LocalizedMessage) -> CredentialError {
        CredentialError(
            .malformedReply, "the plugin \(plugin) \(what)", hint: "credmgr adapters test \(plugin)")
    }
}
