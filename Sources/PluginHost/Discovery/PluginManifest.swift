package import CredentialCore
package import Platform
import StrictJSON

/// The description of a plugin in `manifest.json`; unknown members are ignored.
package struct PluginManifest: Sendable, Hashable {
    /// A setting that only this plugin knows.
    package struct Setting: Sendable, Hashable {
        /// Its name in `adapter_settings`.
        package let name: String
        /// The purpose of the setting, on one line.
        package let summary: String?
        /// Whether a type must have it.
        package let isRequired: Bool
        /// Whether types that differ in it have different providers.
        package let identifiesProvider: Bool
    }

    /// The access that a plugin asks for, as written: `~/` is the user's home.
    package struct Needs: Sendable, Hashable {
        /// The families of addresses.
        package let network: Set<SandboxProfile.Network>
        /// The families' names, sorted.
        package var networkNames: [String] { network.map(\.rawValue).sorted() }
        /// The paths that the plugin may read.
        package let readable: [String]
        /// The paths that the plugin may also write.
        package let writable: [String]
        /// The origins of pages that it may send the user to.
        let pages: [PageOrigin]
        /// The pages' origins as they are written.
        package var pageNames: [String] { pages.map(\.text) }
        /// The address space that each of its processes needs, in MiB; `nil` if the usual limit is enough.
        package let memory: Int?
    }

    /// The adapter's name, which is also its folder's.
    package let name: String
    /// The plugin's own version.
    package let version: String
    /// The versions of the protocol that it speaks.
    package let protocolVersions: [Int64]
    /// The description of the plugin, on one line.
    package let summary: String
    /// The executable's name in the folder.
    package let executable: String
    /// The flows it has; at least one.
    package let flows: [SignInFlow]
    /// The redirect URI of types that do not name one.
    package let defaultRedirectURI: String
    /// Its settings, in the order written.
    package let settings: [Setting]
    /// The access that the plugin needs beyond the access of every plugin.
    package let needs: Needs

    /// The largest manifest, in bytes.
    static let limit = 1 << 16
    /// The redirect URI on which no process listens: the user brings the redirected URL.
    private static let loopback = "http://127.0.0.1"

    /// Reads a manifest; comments and trailing commas are allowed.
    ///
    /// - Parameter place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``, naming the member.
    package init(_ bytes: [UInt8], place: String) throws(CredentialError) {
        let members: JSONObject?
        do {
            members = try JSONValue.parse(bytes, dialect: .commented, limits: JSONLimits(bytes: Self.limit)).object
        } catch {
            throw CredentialError(.configuration, "\(place) is not JSON: \(error)")
        }
        guard let members else { throw CredentialError(.configuration, "\(place) must be a JSON object") }
        let reader = FieldReader(members, code: .configuration, place: LocalizedMessage(verbatim: place))
        name = try reader.requiredText("name", limit: 128, .name)
        version = try reader.requiredText("version", limit: 64, .visible)
        summary = try reader.requiredText("summary", limit: 200)
        executable = try reader.requiredText("executable", limit: 128, .name)
        guard let versions = try reader.integers("protocol_versions"), !versions.isEmpty else {
            throw reader.fault("protocol_versions", "is missing or empty")
        }
        protocolVersions = versions
        var flows: [SignInFlow] = []
        for word in try reader.texts("flows", limit: 64) ?? [SignInFlow.code.rawValue] {
            guard let flow = SignInFlow(rawValue: word) else {
                throw reader.fault("flows", "names the unknown flow '\(UntrustedText.shown(word, limit: 40))'")
            }
            flows.append(flow)
        }
        if flows.isEmpty { throw reader.fault("flows", "is empty") }
        self.flows = flows
        defaultRedirectURI =
            try reader.text("default_redirect_uri", limit: 2_048, .redirectURI) ?? Self.loopback
        settings = try Self.settings(reader)
        needs = try Needs(reader)
    }

    private static func settings(_ reader: FieldReader) throws(CredentialError) -> [Setting] {
        var settings: [Setting] = []
        guard let object = try reader.object("settings"), let all = try reader.reader("settings") else { return [] }
        for name in object.keys {
            guard Identifier.isValid(name) else { throw reader.fault("settings", "has a member with a bad name") }
            guard let setting = try all.reader(name) else { throw all.fault(name, "is null") }
            settings.append(
                Setting(
                    name: name, summary: try setting.text("summary", limit: 200),
                    isRequired: try setting.flag("required") ?? false,
                    identifiesProvider: try setting.flag("identifies_provider") ?? false))
        }
        return settings
    }
}

extension PluginManifest.Needs {
    /// The longest path, in bytes.
    private static let pathLimit = 1_024
    /// The address space that a manifest may ask for, in MiB: up to one TiB.
    private static let memoryRange: ClosedRange<Int64> = 64...1_048_576

    fileprivate init(_ manifest: FieldReader) throws(CredentialError) {
        let reader =
            try manifest.reader("needs") ?? FieldReader(JSONObject(), code: manifest.code, place: manifest.place)
        var network: Set<SandboxProfile.Network> = []
        for word in try reader.texts("network", limit: 64) ?? [] {
            guard let family = SandboxProfile.Network(rawValue: word) else {
                throw reader.fault("network", "names the unknown family '\(UntrustedText.shown(word, limit: 40))'")
            }
            network.insert(family)
        }
        self.network = network
        readable = try reader.texts("read", limit: Self.pathLimit, .path) ?? []
        writable = try reader.texts("write", limit: Self.pathLimit, .path) ?? []
        pages = try (reader.texts("pages", limit: Self.pathLimit, .pageOrigin) ?? []).compactMap(PageOrigin.init)
        memory = try reader.integer("memory", in: Self.memoryRange).map(Int.init)
    }

    /// The confinement of a plugin that needs this.
    ///
    /// - Parameters:
    ///   - home: the path for `~`; without it such paths are left out.
    ///   - keptOut: folders that it never gets.
    func confinement(home: String?, keptOut: [String]) -> SandboxProfile {
        func atHome(_ path: String) -> String? { home.map { $0 + path.dropFirst() } }
        func paths(_ written: [String]) -> [String] {
            written.compactMap { $0.hasPrefix("~/") ? atHome($0) : $0 }
        }
        return SandboxProfile(
            network: network, readable: paths(readable), writable: paths(writable), keptOut: keptOut,
            memory: memory)
    }
}
