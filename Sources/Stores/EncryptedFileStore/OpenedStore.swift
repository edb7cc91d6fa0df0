/// What a store's file held when it was read.
struct OpenedStore {
    /// The header.
    var header: StoreHeader
    /// The secrets.
    var items: StoreItems
    /// The data key.
    let key: DataKey
    /// Where it was read.
    let origin: Origin

    /// Where a store was read.
    enum Origin {
        /// Nowhere: the group has no file yet.
        case new
        /// From this file, which becomes the generation before.
        case current([UInt8])
        /// From the generation before, as this file is damaged, or missing.
        case previous(damaged: [UInt8]?)
    }

    /// Whether header and items are the same.
    func hasSameContent(as other: OpenedStore) -> Bool { header == other.header && items == other.items }
}
