public import StrictJSON

/// A document that a provider publishes for everybody: its metadata (RFC 8414) or its keys (RFC 7517 §5).
public struct ProviderDocument: Sendable, Hashable {
    /// The document.
    public var document: JSONObject
    /// When the provider sent it, or last said that it is unchanged.
    public var fetchedAt: Timestamp
    /// For how many seconds from then it serves without being asked for again.
    public var lifetime: Int64
    /// `ETag` (RFC 9110 §8.8.3), as it came.
    public var entityTag: String?
    /// `Last-Modified` (RFC 9110 §8.8.2), as it came.
    public var lastModified: String?
    /// When a key that is not in it was last looked for at the provider.
    public var soughtAt: Timestamp?

    /// Makes a document just fetched.
    public init(
        document: JSONObject, fetchedAt: Timestamp, lifetime: Int64, entityTag: String? = nil,
        lastModified: String? = nil
    ) {
        self.document = document
        self.fetchedAt = fetchedAt
        self.lifetime = lifetime
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    /// Whether it serves at `now`; a clock that was set back makes it stale.
    public func isFresh(at now: Timestamp) -> Bool { isNewer(than: lifetime, at: now) }

    /// Whether the provider sent it, or said that it is unchanged, less than `age` seconds before `now`.
    public func isNewer(than age: Int64, at now: Timestamp) -> Bool {
        age > 0 && (0..<age).contains(now.seconds(since: fetchedAt))
    }
}

/// Keeps the documents that providers publish from one process to the next. It holds no secrets.
///
/// A cache never fails: it leaves undone any work that it cannot do, and treats an unreadable entry as missing.
public protocol MetadataCache: Sendable {
    /// The document kept for an address.
    func read(_ address: String) -> ProviderDocument?
    /// Keeps a document in place of an older one of the address.
    func write(_ document: ProviderDocument, for address: String)
}

/// A cache that never keeps an entry.
public struct NoMetadataCache: MetadataCache {
    /// Makes it.
    public init() {}

    /// Never there.
    public func read(_ address: String) -> ProviderDocument? { nil }
    /// Does nothing.
    public func write(_ document: ProviderDocument, for address: String) {}
}
