import CredentialCore
import StrictJSON

/// The items of a store's file, in the order in which they were added.
struct StoreItems: Equatable {
    /// One secret.
    struct Item: Equatable {
        let owner: String
        /// The raw value of the kind: kinds of a newer program are kept as they are.
        let kind: String
        let label: String
        let secret: [UInt8]
    }

    private var items: [Item] = []

    /// No items.
    init() {}

    /// The secret of an item.
    func secret(of item: SecretItem) -> [UInt8]? {
        items.first { Self.matches($0, item) }?.secret
    }

    /// The owners of the items of a kind.
    func owners(of kind: SecretItem.Kind) -> [String] {
        items.filter { $0.kind == kind.rawValue }.map(\.owner)
    }

    /// Adds or replaces an item.
    mutating func set(_ secret: [UInt8], for item: SecretItem, label: String) {
        let new = Item(owner: item.owner, kind: item.kind.rawValue, label: label, secret: secret)
        if let index = items.firstIndex(where: { Self.matches($0, item) }) {
            items[index] = new
        } else {
            items.append(new)
        }
    }

    /// Removes an item.
    mutating func remove(_ item: SecretItem) { items.removeAll { Self.matches($0, item) } }

    // MARK: Keys that were replaced

    private static let replacedKeyKind = "replaced-key"

    /// The data key that had this id.
    func replacedKey(_ id: String) -> [UInt8]? {
        items.first { $0.kind == Self.replacedKeyKind && $0.owner == id }?.secret
    }

    /// Keeps a data key for the data that it has sealed.
    mutating func keepReplacedKey(_ key: [UInt8], id: String) {
        if replacedKey(id) == nil {
            items.append(Item(owner: id, kind: Self.replacedKeyKind, label: "", secret: key))
        }
    }

    /// Forgets them, but for those with these ids.
    mutating func removeReplacedKeys(but needed: Set<String>) {
        items.removeAll { $0.kind == Self.replacedKeyKind && !needed.contains($0.owner) }
    }

    /// How many of them are kept.
    var replacedKeys: Int { items.count { $0.kind == Self.replacedKeyKind } }

    private static func matches(_ stored: Item, _ item: SecretItem) -> Bool {
        stored.kind == item.kind.rawValue && stored.owner.utf8.elementsEqual(item.owner.utf8)
    }

    // MARK: JSON

    /// The items as JSON.
    var bytes: [UInt8] {
        let list = items.map { item -> JSONValue in
            [
                "owner": .string(item.owner), "kind": .string(item.kind), "label": .string(item.label),
                "secret": .string(Base64URL.encode(item.secret)),
            ]
        }
        let document: JSONValue = ["items": .array(list)]
        return document.bytes()
    }

    /// Reads the JSON; `nil` when it is not the output of ``bytes``.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONValue.parse(bytes, limits: .ownFile), let list = value.object?["items"]?.array
        else { return nil }
        for element in list {
            guard let object = element.object, let owner = object["owner"]?.string,
                let kind = object["kind"]?.string, let label = object["label"]?.string,
                let secret = object["secret"]?.string.flatMap(Base64URL.decode)
            else { return nil }
            items.append(Item(owner: owner, kind: kind, label: label, secret: secret))
        }
    }
}
