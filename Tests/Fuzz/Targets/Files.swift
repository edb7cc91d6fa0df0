import AzureB2CAdapter
import CredentialCore
import CryptoSupport
import PropertyLists
import StrictJSON

@testable import EncryptedFileStore

extension FuzzTarget {
    /// Property lists: XML, binary, JSON.
    static let propertyList = FuzzTarget("property-list") { bytes in
        _ = try? PropertyList.parse(bytes, place: "settings.plist")
    }

    /// The settings of the apps.
    static let settings = FuzzTarget("settings") { bytes in
        let fix = bytes.count.isMultiple(of: 2)
        guard let type = try? SettingsPlist.import(bytes, name: "Tasks", fix: fix, place: "settings.plist").type
        else { return }
        let written = try? AccountType(name: type.name, json: type.json, isPrivateFile: true, place: "Tasks.json")
        require(written == type, "what is imported is a definition")
    }

    /// Definitions of account types.
    static let typeFile = FuzzTarget("type-file") { bytes in
        guard let json = (try? JSONValue.parse(bytes, dialect: .commented))?.object,
            let type = try? AccountType(name: "Tasks", json: json, isPrivateFile: true, place: "Tasks.json")
        else { return }
        let written = try? AccountType(name: "Tasks", json: type.json, isPrivateFile: true, place: "Tasks.json")
        require(written == type, "a definition is written as it is read")
    }

    /// `config.json`.
    static let configuration = FuzzTarget("configuration") { bytes in
        guard let json = (try? JSONValue.parse(bytes, dialect: .commented))?.object else { return }
        _ = try? Configuration(json: json, place: "config.json")
    }

    /// An account's record.
    static let record = FuzzTarget("record") { bytes in
        guard let record = try? AccountRecord(bytes, of: "0123456789abcdef", in: .standard) else { return }
        let again = try? AccountRecord(record.bytes, of: record.account.id, in: record.group)
        require(again == record, "a record is written as it is read")
    }

    /// The index of the names.
    static let index = FuzzTarget("index") { bytes in
        guard let index = AccountIndex(bytes) else { return }
        let known = index.unreadableEntries
        let again = AccountIndex(AccountIndex.file(index.entries, unreadable: index.unreadable, known: known))
        require(
            again?.entries == index.entries && again?.unreadable == index.unreadable,
            "an index is written as it is read")
        require(AccountIndex(index.compacted)?.unreadableEntries == known, "and compacted")
        for entry in index.entries.prefix(4) {
            require(index.matches(for: entry.id, of: nil).contains(entry), "an account is found by its id")
        }
    }

    /// The content of a keyring's item or the journal.
    static let tokenSet = FuzzTarget("token-set") { bytes in
        guard let tokens = try? TokenSet(decoding: bytes) else { return }
        require((try? TokenSet(decoding: tokens.encoded())) == tokens, "a token set is written as it is read")
    }

    /// Lines of the event log.
    static let eventLine = FuzzTarget("event-line") { bytes in
        guard let members = object(bytes), let event = AccountEvent(json: members) else { return }
        require(AccountEvent(json: event.json) == event, "an event is written as it is read")
    }

    /// The encrypted file. The digest of the header is fixed first, or the parts behind it would never be reached.
    static let fileStore = FuzzTarget("file-store") { bytes in
        let cryptography = LibCryptography()
        _ = try? EncryptedStoreFile(bytes, path: "store.v1", cryptography)
        guard bytes.count > 12 else { return }
        let covered = 88 + Int(bytes[12]) * KeySlot.size
        guard bytes.count >= covered + StoreHeader.checkSize,
            let digest = try? cryptography.sha256(Array(bytes.prefix(covered)))
        else { return }
        var mended = bytes
        mended.replaceSubrange(
            covered..<covered + StoreHeader.checkSize, with: digest.prefix(StoreHeader.checkSize))
        guard let store = try? EncryptedStoreFile(mended, path: "store.v1", cryptography) else { return }
        require(StoreHeader.slotCounts.contains(store.header.slots.count), "a header has one to eight slots")
        for slot in store.header.slots where slot.kind == .keyFile {
            let secret = [UInt8](repeating: 7, count: 32)
            let key = try? slot.unwrap(secret: secret, fileID: store.header.fileID, cryptography)
            require(key == nil, "a foreign key file opens nothing")
        }
        if let key = DataKey([UInt8](repeating: 7, count: DataKey.size)) {
            require((try? store.items(key, cryptography)) == nil, "a foreign key opens nothing")
        }
    }

    /// The content of the encrypted file.
    static let storeItems = FuzzTarget("store-items") { bytes in
        guard let items = StoreItems(bytes) else { return }
        require(StoreItems(items.bytes) == items, "items are written as they are read")
    }
}
