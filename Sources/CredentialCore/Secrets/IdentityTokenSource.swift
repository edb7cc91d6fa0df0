import StrictJSON

/// The source of the platform's token that identifies a workload.
///
/// A platform replaces such tokens all the time, so no form stores one.
public enum IdentityTokenSource: Sendable, Hashable {
    /// In an environment variable, as GitLab's `id_tokens`.
    case environment(String)
    /// In a file that the platform writes.
    case file(String)
    /// Printed by a command, run without a shell.
    case command([String])
    /// Issued by GitHub Actions for this audience.
    case githubActions(audience: String)
    /// Issued by Azure DevOps for a service connection, named by its ID.
    case azureDevOps(serviceConnection: String)

    /// Reads the value of `identity_token`; `nil` if the value does not have a documented form.
    init?(_ value: JSONValue) {
        guard let object = value.object, object.count == 1, let form = object.keys.first else { return nil }
        switch form {
        case "github_actions":
            guard let audience = Self.only("audience", of: object[form]) else { return nil }
            self = .githubActions(audience: audience)
        case "azure_devops":
            guard let id = Self.only("service_connection", of: object[form]) else { return nil }
            self = .azureDevOps(serviceConnection: id)
        default:
            switch ClientSecretSource(value) {
            case .environment(let name)?: self = .environment(name)
            case .file(let path)?: self = .file(path)
            case .command(let words)?: self = .command(words)
            case .store?, .literal?, nil: return nil
            }
        }
    }

    /// The only member of an object, a text without control characters.
    private static func only(_ key: String, of value: JSONValue?) -> String? {
        guard let object = value?.object, object.count == 1, let text = object[key]?.string, !text.isEmpty,
            DefinitionValidation.plainText(text) == nil
        else { return nil }
        return text
    }

    /// The documented forms, for hints.
    static let forms =
        #"{"file":"PATH"}, {"env":"NAME"}, {"command":["PROGRAM","ARGUMENT"]}, {"github_actions":{"audience":"A"}} or {"azure_devops":{"service_connection":"ID"}}"#

    /// The value as a definition has it.
    var json: JSONValue {
        switch self {
        case .environment(let name): ["env": .string(name)]
        case .file(let path): ["file": .string(path)]
        case .command(let words): ["command": JSONValue(words)]
        case .githubActions(let audience): ["github_actions": ["audience": .string(audience)]]
        case .azureDevOps(let id): ["azure_devops": ["service_connection": .string(id)]]
        }
    }

    /// The same source as one of a secret; `nil` if the platform issues the token on request.
    package var secret: ClientSecretSource? {
        switch self {
        case .environment(let name): .environment(name)
        case .file(let path): .file(path)
        case .command(let words): .command(words)
        case .githubActions, .azureDevOps: nil
        }
    }

    /// The platform that issues the token on request; `nil` if the token is read as it is.
    package var platform: IdentityPlatform? {
        switch self {
        case .environment, .file, .command: nil
        case .githubActions: .githubActions
        case .azureDevOps: .azureDevOps
        }
    }
}

/// A platform for continuous integration that issues identity tokens to its jobs.
package enum IdentityPlatform: Sendable {
    /// GitHub Actions ("About security hardening with OpenID Connect").
    case githubActions
    /// Azure DevOps (REST API "Oidctoken - Create", version 7.1).
    case azureDevOps

    /// The name, for messages.
    package var name: String {
        switch self {
        case .githubActions: "GitHub Actions"
        case .azureDevOps: "Azure DevOps"
        }
    }

    /// The variable with the address of the request.
    package var addressVariable: String {
        switch self {
        case .githubActions: "ACTIONS_ID_TOKEN_REQUEST_URL"
        case .azureDevOps: "SYSTEM_OIDCREQUESTURI"
        }
    }

    /// The variable with the bearer token of the request.
    package var tokenVariable: String {
        switch self {
        case .githubActions: "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
        case .azureDevOps: "SYSTEM_ACCESSTOKEN"
        }
    }

    /// The remedy if a variable is not set.
    var hint: LocalizedMessage {
        switch self {
        case .githubActions: "give the job the permission 'id-token: write'"
        case .azureDevOps: "map SYSTEM_ACCESSTOKEN to $(System.AccessToken) in the step's env"
        }
    }
}

/// The request that makes a platform issue an identity token.
public struct IdentityTokenRequest: Sendable, Hashable {
    /// The platform's name, for messages.
    public var platform: String
    /// The method: `GET` or `POST`.
    public var method: String
    /// The address; its author is the user, in whose environment it was.
    public var address: URI
    /// The value of the header field `Authorization`.
    public var authorization: Secret
    /// The member of the JSON response that has the token.
    public var member: String

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - place: the address from the environment.
    ///   - token: the platform's bearer token for the request.
    /// - Throws: ``ErrorCode/configuration`` for an address that is not an https URL.
    package init(
        _ source: IdentityTokenSource, at place: String, token: Secret
    ) throws(CredentialError) {
        let platform: IdentityPlatform, text: String
        switch source {
        case .environment, .file, .command:
            throw CredentialError(.internalFault, "no platform issues this identity token")
        case .githubActions(let audience):
            platform = .githubActions
            // GitHub's own client appends the parameter to an address that has a query.
            text = place + (place.contains("?") ? "&" : "?") + "audience=" + URLComponentEscape.escaped(audience)
            method = "GET"
            authorization = Secret("bearer " + token.reveal())
            member = "value"
        case .azureDevOps(let id):
            platform = .azureDevOps
            text = place + "?api-version=7.1&serviceConnectionId=" + URLComponentEscape.escaped(id)
            method = "POST"
            authorization = Secret("Bearer " + token.reveal())
            member = "oidcToken"
        }
        guard let address = URI(text), address.isWeb, address.isSecure, address.fragment == nil else {
            throw CredentialError(
                .configuration,
                "cannot request the identity token: \(platform.addressVariable) must be an https URL")
        }
        self.platform = platform.name
        self.address = address.named(by: .user)
    }
}

/// Percent-encoding of a value in a query (RFC 3986 §2.1).
enum URLComponentEscape {
    /// The text with every byte escaped that is not unreserved (RFC 3986 §2.3).
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
