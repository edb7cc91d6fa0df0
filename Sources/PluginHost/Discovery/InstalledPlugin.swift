import CredentialCore
import Platform

/// A plugin that may be used: its folder, manifest and executable have been checked.
package struct InstalledPlugin: Sendable {
    /// The manifest.
    package let manifest: PluginManifest
    /// The folder.
    package let path: String
    /// The executable.
    package let program: String
    /// The version of the protocol that is spoken with it.
    package let protocolVersion: Int64

    /// The name of the manifest in the folder.
    package static let manifestName = "manifest.json"

    /// Opens and checks the plugin `name` below a folder of plugins.
    ///
    /// - Parameters:
    ///   - place: the folder of plugins.
    ///   - reserved: the names of built-in adapters.
    /// - Returns: `nil` if there is no directory of that name.
    /// - Throws: ``ErrorCode/configuration`` with the reason why it must not be used.
    static func find(
        _ name: String, in place: PluginSearchPath, reserved: [String]
    ) throws(CredentialError) -> InstalledPlugin? {
        do throws(CredentialError) {
            guard Identifier.isValid(name) else {
                throw refusal("'\(UntrustedText.shown(name, limit: 60))' is not a valid name")
            }
            guard let folder = try TrustedDirectory.open(place.components + [name], below: place.base) else {
                return nil
            }
            if reserved.contains(name) { throw refusal("a built-in adapter has that name") }
            let manifest = try PluginManifest(
                try folder.read(manifestName, limit: PluginManifest.limit),
                place: "\(folder.path)/\(manifestName)")
            guard ConstantTime.equal(manifest.name, name) else {
                throw refusal("its manifest is for '\(manifest.name)'")
            }
            guard let version = PluginProtocol.common(with: manifest.protocolVersions) else {
                let theirs = manifest.protocolVersions.map(String.init).joined(separator: ", ")
                let ours = PluginProtocol.versions.map(String.init).joined(separator: ", ")
                throw refusal("it supports version \(theirs) of the plugin protocol, and credmgr version \(ours)")
            }
            return InstalledPlugin(
                manifest: manifest, path: folder.path, program: try folder.program(manifest.executable),
                protocolVersion: version)
        } catch {
            throw CredentialError(.configuration, error.text, hint: error.advice, details: error.details)
        }
    }

    private static func refusal(_ reason: LocalizedMessage) -> CredentialError {
        CredentialError(.configuration, reason)
    }
}

/// A folder that plugins are looked for in: names below a base that is trusted as it is.
package struct PluginSearchPath: Sendable, Hashable {
    /// The base: `$XDG_DATA_HOME`, `/usr/lib`. It may be a symbolic link.
    package let base: String
    /// The names below it.
    let components = ["credmgr", "providers"]

    /// Names a base.
    package init(base: String) { self.base = base }

    /// The search path: the user's own plugins, then those of packages.
    ///
    /// - Parameter dataHome: `$XDG_DATA_HOME`.
    package static func standard(dataHome: String) -> [PluginSearchPath] {
        [dataHome, "/usr/lib"].map(PluginSearchPath.init(base:))
    }

    /// The folder.
    package var path: String { ([base] + components).joined(separator: "/") }
}
