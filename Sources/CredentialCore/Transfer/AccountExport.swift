package import StrictJSON

/// Sign-ins on their way to another machine: accounts with their grants, and the types and client secrets that they
/// need there. Everything in it is secret.
package struct AccountExport: Sendable, Equatable {
    /// The accounts.
    package var accounts: [Entry] = []
    /// The definitions of their types, by name.
    package var types: [(name: String, definition: JSONObject)] = []
    /// The secrets of these types that a store holds.
    package var secrets: [TypeSecret] = []

    /// One account.
    package struct Entry: Sendable, Equatable {
        /// Its keychain group.
        package var group: KeychainGroup
        /// Its facts and grants; the journal key and the generation are useless on another machine.
        package var tokenSet: TokenSet

        /// Makes an entry.
        package init(group: KeychainGroup, tokenSet: TokenSet) {
            self.group = group
            self.tokenSet = tokenSet
        }
    }

    /// A secret of a type's client.
    package struct TypeSecret: Sendable, Equatable {
        /// The item that the secret belongs to.
        package var item: SecretItem
        /// The secret.
        package var text: Secret

        /// Makes a secret.
        package init(item: SecretItem, text: Secret) {
            self.item = item
            self.text = text
        }
    }

    /// Makes an empty archive.
    package init() {}

    package static func == (left: AccountExport, right: AccountExport) -> Bool {
        left.json == right.json
    }

    // MARK: JSON

    /// The archive as it is sealed.
    package var json: JSONObject {
        var types = JSONObject()
        for (name, definition) in self.types { types[name] = .object(definition) }
        var object = JSONObject()
        object["accounts"] = .array(
            accounts.map { ["group": .string($0.group.name), "token_set": .object($0.tokenSet.json)] })
        object["types"] = .object(types)
        object["secrets"] = .array(
            secrets.map { secret in
                [
                    "group": .string(secret.item.group.name), "type": .string(secret.item.owner),
                    "kind": .string(secret.item.kind.rawValue), "secret": .string(secret.text.reveal()),
                ]
            })
        return object
    }

    /// Reads an archive.
    ///
    /// - Throws: ``ErrorCode/configuration`` when it is not an archive.
    package init(json object: JSONObject) throws(CredentialError) {
        guard let accounts = object["accounts"]?.array, let types = object["types"]?.object,
            let secrets = object["secrets"]?.array
        else { throw Self.damaged() }
        for value in accounts {
            guard let entry = value.object, let group = entry["group"]?.string, let set = entry["token_set"]?.object
            else { throw Self.damaged() }
            self.accounts.append(Entry(group: try KeychainGroup(group), tokenSet: try TokenSet(json: set)))
        }
        for (name, value) in types.members {
            guard let definition = value.object else { throw Self.damaged() }
            self.types.append((name, definition))
        }
        for value in secrets {
            guard let entry = value.object, let group = entry["group"]?.string, let owner = entry["type"]?.string,
                let kind = entry["kind"]?.string.flatMap(SecretItem.Kind.init(rawValue:)),
                let text = entry["secret"]?.string
            else { throw Self.damaged() }
            let item = SecretItem(group: try KeychainGroup(group), owner: owner, kind: kind)
            self.secrets.append(TypeSecret(item: item, text: Secret(text)))
        }
    }

    static func damaged() -> CredentialError {
        CredentialError(.configuration, "the exported file contains no accounts that this version can read")
    }
}
