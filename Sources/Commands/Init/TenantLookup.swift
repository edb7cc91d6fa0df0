import CredentialCore
import OAuth
import StrictJSON

/// Finds the ID of a Microsoft tenant by one of its domains: the ID is in the issuer of the tenant's metadata.
struct TenantLookup {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// Whether a value is a domain in the place of the ID of a tenant.
    static func isDomain(_ text: String, of placeholder: Preset.Placeholder) -> Bool {
        placeholder.form == .guid && placeholder.name == "tenant" && text.contains(".") && !text.contains(":")
            && Preset.Form.host.value(text) != nil && text.utf8.count <= 253
    }

    /// The ID of the tenant that has a domain.
    ///
    /// - Throws: ``ErrorCode/configuration`` if there is no such tenant; ``ErrorCode/temporary``.
    func id(of domain: String, _ preset: Preset) throws(CredentialError) -> String {
        let shown = UntrustedText.shown(domain, limit: 100)
        let noTenant: LocalizedMessage = "there is no tenant with the domain \(shown)"
        guard let template = preset.definition["issuer"]?.string,
            let place = Self.place(of: domain, template)
        else { throw CredentialError(.usage, noTenant) }
        let metadata: ServerMetadata
        do throws(CredentialError) {
            metadata = try MetadataFetcher().metadata(
                at: [place], in: session.services(session.stores(mayPrompt: false)).adapterContext,
                issuerRule: { (_: String) throws(CredentialError) in })
        } catch {
            guard error.code == .configuration else { throw error }
            throw CredentialError(.configuration, noTenant, details: [error.message] + error.details)
        }
        let parts = metadata.issuer.flatMap(URI.init)?.pathComponents ?? []
        guard let id = parts.lazy.compactMap({ Preset.Form.guid.value(String($0)) }).first else {
            throw CredentialError(.configuration, "the metadata of \(shown) does not name the ID of its tenant")
        }
        return id
    }

    /// The metadata of the tenant: a host that begins with the tenant has the first label of the domain there.
    private static func place(of domain: String, _ template: String) -> URI? {
        let label = domain.split(separator: ".").first.map(String.init) ?? domain
        let parts = template.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4 else { return nil }
        let host = PresetText.filled(.string(parts[2]), with: ["tenant": label]).string ?? ""
        let path = PresetText.filled(.string(parts[3]), with: ["tenant": domain]).string ?? ""
        return URI("\(parts[0])//\(host)/\(path)/.well-known/openid-configuration")
    }
}
