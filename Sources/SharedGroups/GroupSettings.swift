import CredentialCore
import StrictJSON

/// The settings that the hosts of a group agree on; they are in clear beside the group's id, with a proof that one
/// of the hosts has set them.
package struct GroupSettings: Sendable, Hashable {
    /// How long an access token is kept before the cluster is asked again, in seconds.
    package var cacheSeconds = ClusterConfiguration.standardCacheSeconds
    /// After how many seconds a refresh with an unknown end is repeated; `nil` for never.
    package var takeOverSeconds: Int64?

    package init() {}

    init(_ object: JSONObject) {
        cacheSeconds = object["cache_ttl"]?.integer.map { max(0, $0) } ?? ClusterConfiguration.standardCacheSeconds
        takeOverSeconds = object["take_over"]?.integer.map { max(0, $0) }
    }

    func put(into object: inout JSONObject) {
        object["cache_ttl"] = .integer(cacheSeconds)
        object["take_over"] = takeOverSeconds.map(JSONValue.integer)
    }
}

/// The content of the record of a group.
struct GroupFacts: Sendable {
    /// The group's random id.
    let id: [UInt8]
    /// The settings that its hosts agree on, as far as ``agreement`` proves them.
    let settings: GroupSettings
    /// That one who has the data key of an epoch has set them.
    private(set) var agreement: KeyEndorsement?
    /// Members that a newer version has written stay.
    private var object = JSONObject()

    /// The form of sealed data in the group: the records' and so on (``GroupCipher``).
    let format: Int64
    /// The form that this program writes; it reads the first one as well.
    static let format: Int64 = 2

    private static let idSize = 16

    /// A group that begins.
    init(settings: GroupSettings, _ random: any RandomSource) {
        id = random.bytes(Self.idSize)
        self.settings = settings
        format = Self.format
        object["version"] = .integer(Self.format)
        object["id"] = .string(Base64URL.encode(id))
    }

    /// Reads a record of the cluster.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``; ``ErrorCode/storeUnavailable`` for one of a newer version.
    init(_ record: ClusterRecord) throws(CredentialError) {
        guard let object = try? JSONValue.parse(record.value, limits: .ownFile).object,
            let format = object["version"]?.integer, format > 0
        else {
            throw GroupMembership.damaged("\(record.key) of the cluster is not a group of this version", record.key)
        }
        guard format <= Self.format else {
            throw CredentialError(
                .storeUnavailable, "a newer credmgr has written \(record.key) of the cluster (format \(format))",
                hint: "upgrade credmgr")
        }
        guard let id = object["id"]?.string.flatMap(Base64URL.decode), id.count == Self.idSize else {
            throw GroupMembership.damaged("\(record.key) of the cluster is not a group of this version", record.key)
        }
        self.id = id
        self.format = format
        self.object = object
        settings = GroupSettings(object)
        agreement = KeyEndorsement(object["agreed"])
    }

    /// As stored in the cluster once it has records of the present form.
    var raised: [UInt8] {
        var object = object
        object["version"] = .integer(Self.format)
        return JSONValue.object(object).bytes()
    }

    /// As stored in the cluster once a holder of an epoch's data key has set the agreed settings.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func encoded(
        agreeing settings: GroupSettings, _ wrap: KeyWrap, key: [UInt8], epoch: Int64
    ) throws(CredentialError) -> [UInt8] {
        var object = object
        settings.put(into: &object)
        object["agreed"] = try wrap.agreement(on: settings, key: key, epoch: epoch).json
        return JSONValue.object(object).bytes()
    }
}

extension ClusterConfiguration {
    /// The settings that the hosts agree on, as this host knows them.
    var settings: GroupSettings {
        get {
            var settings = GroupSettings()
            settings.cacheSeconds = cacheSeconds
            settings.takeOverSeconds = takeOverSeconds
            return settings
        }
        set {
            cacheSeconds = newValue.cacheSeconds
            takeOverSeconds = newValue.takeOverSeconds
        }
    }
}
