import CredentialCore

/// The clouds whose metadata service a broker answers for: `clouds` of its file.
public struct BrokerClouds: Sendable, Hashable {
    /// Google's: the entry and the project's ID.
    public struct GCE: Sendable, Hashable {
        /// The entry.
        public var entry: String
        /// The project's ID; `nil` if the file has no project ID.
        public var project: String?

        /// Makes a setting.
        public init(entry: String, project: String? = nil) {
            self.entry = entry
            self.project = project
        }
    }

    /// Amazon's: the entry and the role that it assumes.
    public struct AWS: Sendable, Hashable {
        /// The entry.
        public var entry: String
        /// The role's ARN.
        public var roleARN: String

        /// Makes a setting.
        public init(entry: String, roleARN: String) {
            self.entry = entry
            self.roleARN = roleARN
        }
    }

    /// Google's metadata server.
    public var gce: GCE?
    /// The entry for Azure's managed identities.
    public var azure: String?
    /// Amazon's container credentials.
    public var aws: AWS?
    /// The entry for the ID tokens of GitHub Actions.
    public var actions: String?

    static let keys = ["gce", "azure", "aws", "actions"]

    /// Makes the settings of a broker without clouds.
    public init() {}

    /// The names of the configured clouds, as `hello` lists them.
    public var names: [String] {
        [
            gce.map { _ in "gce" }, azure.map { _ in "azure" }, aws.map { _ in "aws" },
            actions.map { _ in "actions" },
        ]
        .compactMap(\.self)
    }

    /// Whether no cloud is configured.
    public var isEmpty: Bool { names.isEmpty }

    init(_ reader: DefinitionReader, entries: [String]) throws(CredentialError) {
        func entry(_ reader: DefinitionReader) throws(CredentialError) -> String {
            guard let name = try reader.string("entry") else { throw reader.fault("entry", "is missing") }
            guard entries.contains(name) else { throw reader.fault("entry", "names no entry") }
            return name
        }
        if reader.has("gce") {
            let cloud = try reader.object("gce", known: ["entry", "project"])
            gce = GCE(entry: try entry(cloud), project: try cloud.string("project"))
        }
        if reader.has("azure") { azure = try entry(try reader.object("azure", known: ["entry"])) }
        if reader.has("aws") {
            let cloud = try reader.object("aws", known: ["entry", "role_arn"])
            guard let role = try cloud.string("role_arn") else { throw cloud.fault("role_arn", "is missing") }
            aws = AWS(entry: try entry(cloud), roleARN: role)
        }
        if reader.has("actions") { actions = try entry(try reader.object("actions", known: ["entry"])) }
    }
}
