/// The accounts of GNOME Online Accounts: its `accounts.conf` says who they are, and the desktop's keyring has
/// their tokens, one item each, written as GLib writes a variant.
package enum GNOMEOnlineAccounts {
    /// The schema of its items in the keyring.
    package static let schema = "org.gnome.OnlineAccounts"
    /// The attribute that names the account: `google:gen11:account_1795361771_0`.
    package static let attribute = "goa-identity"
    /// The program, for messages.
    static let program = "GNOME Online Accounts"

    /// One account of the file.
    private struct Entry {
        var id: String
        var values: [String: String] = [:]
    }

    /// The clients that GNOME's own releases are built with. The file names another one if the user gave it.
    private static let builtInClients = [
        "google": "44438659992-7kgjeitenc16ssihbtdjbgguch7ju55s.apps.googleusercontent.com",
        "ms_graph": "b155a604-3c31-4079-93b0-6bb6aa9d5464",
    ]

    /// The hosts of their token endpoints, if the file does not name them.
    private static let hosts = ["ms_graph": "login.microsoftonline.com"]

    /// The sign-ins of the accounts in a text; `nil` if it is no `accounts.conf`.
    ///
    /// Accounts with a password, and accounts that are signed in to no more, have no sign-in, and are named as
    /// lacking one.
    ///
    /// - Parameter keyring: gives the items of the schema whose attribute is asked for.
    /// - Throws: the errors of `keyring`.
    static func read(
        _ text: String,
        _ keyring: (@escaping @Sendable (String) -> Bool) throws(CredentialError) -> [KeyringItem]
    ) throws(CredentialError) -> ImportedFile? {
        let entries = entries(in: text)
        guard !entries.isEmpty else { return nil }
        let wanted = entries.compactMap { entry in entry.values["Provider"].map { ($0 + ":gen", ":" + entry.id) } }
        let items = try keyring { name in
            wanted.contains { name.hasPrefix($0.0) && name.hasSuffix($0.1) }
        }
        var file = ImportedFile()
        for entry in entries {
            guard let provider = entry.values["Provider"] else { continue }
            let name = entry.values["PresentationIdentity"] ?? entry.values["Identity"]
            let shown = UntrustedText.shown(name ?? entry.id)
            guard let token = token(of: entry.id, provider, items) else {
                file.lacks.append(
                    CredentialImporters.lack(
                        "the keyring has no refresh token of \(shown) (\(UntrustedText.shown(provider)))",
                        hint:
                            "accounts with a password have no refresh token; sign in to another account in the "
                            + "settings of GNOME"
                    ))
                continue
            }
            guard let clientID = entry.values["OAuth2ClientId"] ?? builtInClients[provider] else {
                file.lacks.append(
                    CredentialImporters.lack(
                        "accounts.conf lacks OAuth2ClientId for \(shown) (\(UntrustedText.shown(provider))): its "
                            + "client is not known"))
                continue
            }
            let isGoogle = provider == "google"
            guard let place = entry.values["OAuth2TokenUri"].flatMap({ URI($0)?.host }) ?? hosts[provider],
                !isGoogle
            else {
                file.signIns.append(
                    ImportedSignIn(
                        program: program, token: .refresh(token), clientID: clientID,
                        issuer: isGoogle ? CredentialImporters.googleIssuer : nil, username: name))
                continue
            }
            file.signIns.append(
                ImportedSignIn(
                    program: program, token: .refresh(token), clientID: clientID, host: place, isHostBinding: true,
                    username: name))
        }
        return file
    }

    /// The refresh token in an account's item of the newest generation.
    private static func token(of id: String, _ provider: String, _ items: [KeyringItem]) -> Secret? {
        let prefix = provider + ":gen", suffix = ":" + id
        let own = items.compactMap { item -> (generation: Int, secret: Secret)? in
            guard item.name.hasPrefix(prefix), item.name.hasSuffix(suffix) else { return nil }
            return Int(item.name.dropFirst(prefix.count).dropLast(suffix.count)).map { ($0, item.secret) }
        }
        guard let newest = own.max(by: { $0.generation < $1.generation }) else { return nil }
        return GVariantText.strings(in: newest.secret.reveal())["refresh_token"].flatMap {
            $0.isEmpty ? nil : Secret($0)
        }
    }

    // MARK: accounts.conf

    /// The groups `[Account ID]` of GLib's key file.
    private static func entries(in text: String) -> [Entry] {
        var entries: [Entry] = [], isInside = false
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                isInside = line.hasPrefix("[Account ") && line.hasSuffix("]")
                if isInside { entries.append(Entry(id: String(line.dropFirst(9).dropLast()))) }
                continue
            }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard isInside, parts.count == 2, !line.hasPrefix("#") else { continue }
            let key = String(parts[0].reversed().drop { $0 == " " }.reversed())
            entries[entries.count - 1].values[key] = unescaped(parts[1].drop { $0 == " " })
        }
        return entries.filter { $0.values["Provider"] != nil }
    }

    private static func unescaped(_ value: Substring) -> String {
        var text = "", isEscaped = false
        for character in value {
            if isEscaped {
                text.append(["s": " ", "n": "\n", "t": "\t", "r": "\r"][character] ?? character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                text.append(character)
            }
        }
        return text
    }
}

/// The text that GLib prints of a variant of the type `a{sv}`: `{'refresh_token': <'1//x'>, 'expires_at': <int64
/// 5>}`.
package enum GVariantText {
    /// Its members that are strings. Any other text gives no members.
    package static func strings(in text: String) -> [String: String] {
        var reader = Reader(rest: Substring(text))
        return reader.members() ?? [:]
    }

    private struct Reader {
        var rest: Substring

        mutating func members() -> [String: String]? {
            var found: [String: String] = [:]
            guard take("{") else { return nil }
            while !take("}") {
                guard let key = string(), take(":"), take("<") else { return nil }
                if let value = string() { found[key] = value } else if !skipValue() { return nil }
                guard take(">") else { return nil }
                if !take(","), rest.first != "}" { return nil }
            }
            return rest.isEmpty ? found : nil
        }

        private mutating func take(_ character: Character) -> Bool {
            rest = rest.drop { $0 == " " }
            guard rest.first == character else { return false }
            rest.removeFirst()
            return true
        }

        /// A value that is no string, up to the bracket that ends it.
        private mutating func skipValue() -> Bool {
            var depth = 0
            while let first = rest.first {
                if first == ">", depth == 0 { return true }
                if first == "'" || first == "\"" {
                    guard string() != nil else { return false }
                    continue
                }
                if first == "<" { depth += 1 } else if first == ">" { depth -= 1 }
                rest.removeFirst()
            }
            return false
        }

        /// A string in quotes of either kind, with GLib's escapes.
        private mutating func string() -> String? {
            let start = rest.drop { $0 == " " }
            guard let quote = start.first, quote == "'" || quote == "\"" else { return nil }
            rest = start.dropFirst()
            var text = ""
            while let character = rest.popFirst() {
                if character == quote { return text }
                guard character == "\\" else {
                    text.append(character)
                    continue
                }
                guard let escape = rest.popFirst() else { return nil }
                switch escape {
                case "a": text.append("\u{07}")
                case "b": text.append("\u{08}")
                case "f": text.append("\u{0C}")
                case "n": text.append("\n")
                case "r": text.append("\r")
                case "t": text.append("\t")
                case "v": text.append("\u{0B}")
                case "u", "U":
                    let digits = rest.prefix(escape == "u" ? 4 : 8)
                    guard let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) else { return nil }
                    text.unicodeScalars.append(scalar)
                    rest = rest.dropFirst(digits.count)
                default: text.append(escape)
                }
            }
            return nil
        }
    }
}
