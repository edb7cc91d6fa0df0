package import CredentialCore

/// The reply of a plugin to `describe`.
package struct PluginDescription: Sendable {
    /// Its name.
    package let name: String
    /// Its own version.
    package let pluginVersion: String
    /// The versions of the protocol it speaks.
    package let protocolVersions: [Int64]

    /// Reads a reply.
    ///
    /// - Throws: ``ErrorCode/malformedReply``.
    package init(_ reply: PluginReply) throws(CredentialError) {
        let reader = reply.reader
        name = try reader.requiredText("name", limit: 128, .name)
        pluginVersion = try reader.requiredText("plugin_version", limit: 64, .visible)
        guard let versions = try reader.integers("protocol_versions"), !versions.isEmpty else {
            throw reader.fault("protocol_versions", "is missing or empty")
        }
        protocolVersions = versions
    }

    /// Checks that program and manifest tell the same.
    ///
    /// - Throws: ``ErrorCode/malformedReply``.
    package func check(against provider: InstalledPlugin) throws(CredentialError) {
        let manifest = provider.manifest
        let differences = [
            ("name", ConstantTime.equal(name, manifest.name)),
            ("version", ConstantTime.equal(pluginVersion, manifest.version)),
            ("protocol_versions", Set(protocolVersions) == Set(manifest.protocolVersions)),
        ].filter { !$0.1 }.map(\.0)
        guard differences.isEmpty else {
            throw CredentialError(
                .malformedReply,
                "the plugin \(manifest.name) does not match its manifest: \(differences.joined(separator: ", ")) "
                    + "differ",
                hint: "install the manifest and the executable of the same version")
        }
    }
}
