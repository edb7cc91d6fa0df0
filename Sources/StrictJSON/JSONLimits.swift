/// What a text may hold at most, so that a hostile one costs little.
public struct JSONLimits: Sendable {
    /// The size of the text in bytes.
    public var bytes: Int
    /// How deep arrays and objects may nest.
    public var depth: Int
    /// How many members and elements there may be in all.
    public var nodes: Int

    /// Makes limits; the defaults suit a reply of a server: 1 MiB, 32 levels, 65,536 nodes.
    public init(bytes: Int = 1 << 20, depth: Int = 32, nodes: Int = 1 << 16) {
        self.bytes = bytes
        self.depth = depth
        self.nodes = nodes
    }

    /// For a reply of a server.
    public static let reply = JSONLimits()
    /// For a file of our own: 256 MiB and four million nodes.
    public static let ownFile = JSONLimits(bytes: 256 << 20, depth: 32, nodes: 4 << 20)
}
