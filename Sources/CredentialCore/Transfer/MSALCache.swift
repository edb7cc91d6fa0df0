import StrictJSON

/// The token cache of MSAL, in its unified schema: `RefreshToken` and `Account`, by keys that name home account,
/// environment and client.
enum MSALCache {
    /// The program, for messages.
    static let program = "MSAL"

    /// The clouds of Microsoft, by the hosts that are one authority (MSAL's instance discovery metadata). Client
    /// IDs of Microsoft's own programs are the same in each, and a refresh token of one must not be sent to
    /// another.
    private static let clouds: [Set<String>] = [
        ["login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net"],
        ["login.partner.microsoftonline.cn", "login.chinacloudapi.cn"],
        ["login.microsoftonline.us", "login.usgovcloudapi.net"],
    ]

    /// The hosts that are the same authority as the one an `environment` names.
    static func hosts(of environment: String) -> Set<String> {
        let name = environment.lowercased(), host = URI("https://\(name)")?.host ?? name
        return clouds.first { $0.contains(host) } ?? [host]
    }

    /// The refresh tokens of a cache; `nil` for an object that is not a cache.
    static func read(_ object: JSONObject) -> ImportedFile? {
        guard object["RefreshToken"]?.object != nil || object["Account"]?.object != nil,
            object["issuer_url"] == nil
        else { return nil }
        let accounts = object["Account"]?.object?.members.compactMap(\.value.object) ?? []
        var file = ImportedFile()
        for member in object["RefreshToken"]?.object?.members ?? [] {
            let entry = member.value.object ?? JSONObject()
            let lacks = ["secret", "client_id", "environment"].filter { (entry[$0]?.string ?? "").isEmpty }
            guard lacks.isEmpty, let secret = entry["secret"]?.string else {
                file.lacks.append(
                    CredentialImporters.lack(
                        "a refresh token in the cache of MSAL lacks \(lacks.joined(separator: ", "))")
                )
                continue
            }
            let account = accounts.first {
                $0["home_account_id"] == entry["home_account_id"] && $0["environment"] == entry["environment"]
            }
            file.signIns.append(
                ImportedSignIn(
                    program: program, token: .refresh(Secret(secret)), clientID: entry["client_id"]?.string,
                    host: entry["environment"]?.string, isHostBinding: true,
                    username: account?["username"]?.string,
                    policy: entry["home_account_id"]?.string.flatMap(policy)))
        }
        if file.signIns.isEmpty, file.lacks.isEmpty {
            file.lacks.append(
                CredentialImporters.lack(
                    "the cache of MSAL has no refresh token",
                    hint: "sign in with offline_access in the program that wrote the cache"))
        }
        return file
    }

    /// The policy of B2C in a home account: `OBJECT-POLICY.TENANT`, in place of the usual `OBJECT.TENANT`, with
    /// GUIDs for object and tenant.
    private static func policy(ofHomeAccount id: String) -> String? {
        guard let dot = id.lastIndex(of: ".") else { return nil }
        let object = id[..<dot]
        guard object.utf8.count > 37, isGUID(object.prefix(36)), object.dropFirst(36).first == "-" else {
            return nil
        }
        return String(object.dropFirst(37))
    }

    private static func isGUID(_ text: Substring) -> Bool {
        text.utf8.count == 36
            && text.enumerated().allSatisfy { index, character in
                [8, 13, 18, 23].contains(index) ? character == "-" : character.isASCII && character.isHexDigit
            }
    }
}
