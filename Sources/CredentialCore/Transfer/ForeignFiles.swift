import StrictJSON

/// Reads the files of other programs that keep sign-ins: `hosts.yml` of GitHub's `gh`, the token cache of MSAL, what
/// `oidc-add --print NAME` prints of an account of oidc-agent, the application-default file of gcloud, `rclone.conf`,
/// the token file of mutt_oauth2.py, decrypted, and `accounts.conf` of GNOME Online Accounts, whose tokens are in the
/// desktop's keyring.
package enum ForeignFiles {
    /// The sign-ins in a file.
    ///
    /// - Parameter keyring: gives the desktop's keyring, for files whose tokens are there.
    /// - Throws: ``ErrorCode/configuration`` for a file that is none of these, or one without a sign-in; what the keyring
    ///   throws.
    package static func signIns(
        in bytes: [UInt8], keyring: () throws(CredentialError) -> any SecretStore
    ) throws(CredentialError) -> [ForeignSignIn] {
        let found: [ForeignSignIn]
        if let object = (try? JSONValue.parse(bytes, limits: .ownFile))?.object {
            found = fromMSAL(object) + fromOIDCAgent(object) + fromGoogleCloud(object) + fromMutt(object)
        } else if let text = String(validating: bytes, as: UTF8.self) {
            let online = try OnlineAccounts.signIns(in: text) { (isWanted) throws(CredentialError) in
                try keyring().foreignItems(
                    schema: OnlineAccounts.schema, attribute: OnlineAccounts.attribute, where: isWanted)
            }
            if let online, online.isEmpty {
                throw CredentialError(
                    .configuration, "the keyring has no refresh token of an account in this file",
                    hint: "an account with a password has none; sign in to another in the settings of GNOME first")
            }
            found = online ?? fromGitHub(text) + fromRclone(text)
        } else {
            found = []
        }
        guard found.isEmpty else { return found }
        throw CredentialError(
            .configuration, "the file holds no sign-in that credmgr can read",
            hint:
                "it reads what 'credmgr accounts export' writes, hosts.yml of gh (with its token), a token cache of "
                + "MSAL, what 'oidc-add --print NAME' of oidc-agent prints, application_default_credentials.json of "
                + "gcloud, rclone.conf, the decrypted token file of mutt_oauth2.py, and accounts.conf of GNOME Online "
                + "Accounts")
    }

    // MARK: MSAL

    /// The unified cache schema: `RefreshToken`, `Account` by keys that name home account and environment.
    private static func fromMSAL(_ object: JSONObject) -> [ForeignSignIn] {
        let accounts = object["Account"]?.object?.members.compactMap(\.value.object) ?? []
        return (object["RefreshToken"]?.object?.members ?? []).compactMap { member in
            guard let entry = member.value.object, let secret = entry["secret"]?.string, !secret.isEmpty,
                let clientID = entry["client_id"]?.string
            else { return nil }
            let account = accounts.first {
                $0["home_account_id"] == entry["home_account_id"] && $0["environment"] == entry["environment"]
            }
            return ForeignSignIn(
                program: "MSAL", token: .refresh(Secret(secret)), clientID: clientID,
                host: entry["environment"]?.string, username: account?["username"]?.string)
        }
    }

    // MARK: oidc-agent

    private static func fromOIDCAgent(_ object: JSONObject) -> [ForeignSignIn] {
        guard let issuer = object["issuer_url"]?.string, let clientID = object["client_id"]?.string,
            let token = object["refresh_token"]?.string, !token.isEmpty
        else { return [] }
        return [
            ForeignSignIn(
                program: "oidc-agent", token: .refresh(Secret(token)), clientID: clientID, issuer: issuer)
        ]
    }

    // MARK: gcloud

    static let googleIssuer = "https://accounts.google.com"

    /// `application_default_credentials.json` of a user.
    private static func fromGoogleCloud(_ object: JSONObject) -> [ForeignSignIn] {
        guard object["type"]?.string == "authorized_user", let clientID = object["client_id"]?.string,
            let token = object["refresh_token"]?.string, !token.isEmpty
        else { return [] }
        let account = object["account"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        return [
            ForeignSignIn(
                program: "gcloud", token: .refresh(Secret(token)), clientID: clientID, issuer: googleIssuer,
                username: account)
        ]
    }

    // MARK: mutt_oauth2.py

    /// The token file, as its script decrypts it.
    private static func fromMutt(_ object: JSONObject) -> [ForeignSignIn] {
        guard let registration = object["registration"]?.string, let token = object["refresh_token"]?.string,
            !token.isEmpty, let clientID = object["client_id"]?.string, !clientID.isEmpty
        else { return [] }
        return [
            ForeignSignIn(
                program: "mutt_oauth2.py", token: .refresh(Secret(token)), clientID: clientID,
                issuer: registration == "google" ? googleIssuer : nil, username: object["email"]?.string)
        ]
    }

    // MARK: rclone

    /// The remotes of `rclone.conf` that were signed in with a client of one's own; those of rclone's own client are
    /// good with no other. An encrypted file has none.
    private static func fromRclone(_ text: String) -> [ForeignSignIn] {
        var found: [ForeignSignIn] = []
        var clientID: String?, token: Secret?, kind: String?
        func take() {
            guard let clientID, let token else { return }
            let isGoogle = ["drive", "google photos", "google cloud storage"].contains(kind)
            found.append(
                ForeignSignIn(
                    program: "rclone", token: .refresh(token), clientID: clientID,
                    issuer: isGoogle ? googleIssuer : nil))
        }
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                take()
                (clientID, token, kind) = (nil, nil, nil)
            }
            let parts = line.split(separator: "=", maxSplits: 1).map { part in
                String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
            }
            guard parts.count == 2, !parts[1].isEmpty else { continue }
            switch parts[0] {
            case "type": kind = parts[1]
            case "client_id": clientID = parts[1]
            case "token":
                let object = (try? JSONValue.parse(parts[1]))?.object
                token = object?["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
            default: break
            }
        }
        take()
        return found
    }

    // MARK: gh

    /// `hosts.yml` as `gh` writes it: a host at the left, below it `user` and `oauth_token`, or below `users` a user
    /// each with `oauth_token`. It is no reader of YAML: of anything else it takes nothing.
    private static func fromGitHub(_ text: String) -> [ForeignSignIn] {
        var found: [ForeignSignIn] = []
        var host: String?, user: String?, isBelowUsers = false
        for line in text.split(whereSeparator: \.isNewline) {
            let indent = line.prefix { $0 == " " }.count
            let parts = line.dropFirst(indent).split(separator: ":", maxSplits: 1)
            guard let key = parts.first.map(String.init), parts.count == 2 || line.hasSuffix(":") else { continue }
            let value = parts.count == 2 ? unquoted(parts[1]) : ""
            switch indent {
            case 0: (host, user, isBelowUsers) = (key, nil, false)
            case 4 where key == "users": isBelowUsers = true
            case 4 where key == "user": user = value
            case 8 where isBelowUsers && value.isEmpty: user = key
            default: break
            }
            guard key == "oauth_token", !value.isEmpty, let host, indent > 0 else { continue }
            let token = ForeignToken.access(Secret(value))
            // The token of the active user stands there twice.
            if found.contains(where: { $0.token == token }) { continue }
            found.append(
                ForeignSignIn(program: "gh", token: token, host: host, username: indent > 4 ? user : nil))
        }
        return found
    }

    private static func unquoted(_ text: Substring) -> String {
        let plain = text.drop { $0 == " " }
        guard plain.count > 1, let first = plain.first, first == plain.last, "\"'".contains(first) else {
            return String(plain)
        }
        return String(plain.dropFirst().dropLast())
    }
}
