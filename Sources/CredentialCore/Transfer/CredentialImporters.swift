import StrictJSON

/// Reads the files of other programs that keep sign-ins. They are `hosts.yml` of GitHub's `gh`, the token cache of
/// MSAL, the output of `oidc-add --print NAME` for an account of oidc-agent, the application-default file of gcloud
/// and `rclone.conf`. The others are the token file of mutt_oauth2.py, decrypted, and `accounts.conf` of GNOME
/// Online Accounts, whose tokens are in the desktop's keyring. If a file is one of these and incomplete, it names
/// the missing data.
package enum CredentialImporters {
    /// The sign-ins in a file, and the data that it lacks for others.
    ///
    /// - Parameters:
    ///   - bytes: the file, in UTF-8 without a byte order mark.
    ///   - keyring: gives the desktop's keyring, for files whose tokens are there.
    /// - Throws: ``ErrorCode/configuration`` for a file of another kind, or one without a sign-in; the errors of
    ///   the keyring.
    package static func read(
        _ bytes: [UInt8], keyring: () throws(CredentialError) -> any SecretStore
    ) throws(CredentialError) -> ImportedFile {
        let file: ImportedFile?
        if let object = (try? JSONValue.parse(bytes, limits: .ownFile))?.object {
            file =
                MSALCache.read(object) ?? oidcAgent(object) ?? googleCloud(object) ?? muttOAuth2(object)
                ?? GitHubHosts.read(object)
        } else if let text = String(validating: bytes, as: UTF8.self) {
            file =
                try onlineAccounts(text, keyring) ?? encrypted(text) ?? RcloneFile.read(text)
                ?? GitHubHosts.read(text)
        } else {
            file = openPGP(bytes)
        }
        if let file, !file.signIns.isEmpty { return file }
        throw refusal(file?.lacks ?? [])
    }

    private static func refusal(_ lacks: [CredentialError]) -> CredentialError {
        guard let first = lacks.first else {
            return CredentialError(
                .configuration, "the file contains no account that credmgr can read",
                hint:
                    "use a file of 'credmgr accounts export', hosts.yml of gh (with its token), a token cache of "
                    + "MSAL, the output of 'oidc-add --print NAME' of oidc-agent, "
                    + "application_default_credentials.json of gcloud, rclone.conf, the decrypted token file of "
                    + "mutt_oauth2.py, or accounts.conf of GNOME Online Accounts")
        }
        return CredentialError(
            .configuration,
            "the file contains no account that credmgr can import: "
                + "\(LocalizedMessage.joined(lacks.map(\.text), by: "; "))",
            hint: first.advice)
    }

    /// The error of a file that lacks something for a sign-in.
    static func lack(_ what: LocalizedMessage, hint: LocalizedMessage? = nil) -> CredentialError {
        CredentialError(.configuration, what, hint: hint)
    }

    /// The members that an object lacks, or has empty.
    private static func missing(_ names: [String], in object: JSONObject) -> [String] {
        names.filter { (object[$0]?.string ?? "").isEmpty }
    }

    // MARK: oidc-agent

    private static func oidcAgent(_ object: JSONObject) -> ImportedFile? {
        guard object["issuer_url"] != nil else { return nil }
        let lacks = missing(["issuer_url", "client_id", "refresh_token"], in: object)
        guard lacks.isEmpty, let token = object["refresh_token"]?.string else {
            return ImportedFile(lacks: [
                lack(
                    "the account of oidc-agent lacks \(lacks.joined(separator: ", "))",
                    hint: lacks.contains("refresh_token")
                        ? "get a new refresh token: oidc-gen --reauthenticate" : nil)
            ])
        }
        return ImportedFile(signIns: [
            ImportedSignIn(
                program: "oidc-agent", token: .refresh(Secret(token)), clientID: object["client_id"]?.string,
                issuer: object["issuer_url"]?.string)
        ])
    }

    // MARK: gcloud

    static let googleIssuer = "https://accounts.google.com"

    /// `application_default_credentials.json`, of a user.
    private static func googleCloud(_ object: JSONObject) -> ImportedFile? {
        guard let kind = object["type"]?.string else { return nil }
        let others = [
            "service_account", "external_account", "external_account_authorized_user",
            "impersonated_service_account",
            "gdch_service_account",
        ]
        if others.contains(kind) {
            return ImportedFile(lacks: [
                lack(
                    "the credentials of gcloud have the type \(kind), not that of a user",
                    hint: "write the credentials of a user: gcloud auth application-default login")
            ])
        }
        guard kind == "authorized_user" else { return nil }
        let lacks = missing(["client_id", "refresh_token"], in: object)
        guard lacks.isEmpty, let token = object["refresh_token"]?.string else {
            return ImportedFile(lacks: [
                lack(
                    "the credentials of gcloud lack \(lacks.joined(separator: ", "))",
                    hint: "write the credentials again: gcloud auth application-default login")
            ])
        }
        let account = object["account"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        return ImportedFile(signIns: [
            ImportedSignIn(
                program: "gcloud", token: .refresh(Secret(token)), clientID: object["client_id"]?.string,
                issuer: googleIssuer, username: account)
        ])
    }

    // MARK: mutt_oauth2.py

    /// The token file, as its script decrypts it.
    private static func muttOAuth2(_ object: JSONObject) -> ImportedFile? {
        guard let registration = object["registration"]?.string else { return nil }
        let lacks = missing(["client_id", "refresh_token"], in: object)
        guard lacks.isEmpty, let token = object["refresh_token"]?.string else {
            return ImportedFile(lacks: [
                lack(
                    "the token file of mutt_oauth2.py lacks \(lacks.joined(separator: ", "))",
                    hint: lacks.contains("client_id")
                        ? "add the client_id of the registration '\(UntrustedText.shown(registration))' from the "
                            + "script" : "run its script with --authorize to sign in again")
            ])
        }
        return ImportedFile(signIns: [
            ImportedSignIn(
                program: "mutt_oauth2.py", token: .refresh(Secret(token)), clientID: object["client_id"]?.string,
                issuer: registration == "google" ? googleIssuer : nil, username: object["email"]?.string)
        ])
    }

    // MARK: GNOME Online Accounts

    private static func onlineAccounts(
        _ text: String, _ keyring: () throws(CredentialError) -> any SecretStore
    ) throws(CredentialError) -> ImportedFile? {
        try GNOMEOnlineAccounts.read(text) { (isWanted) throws(CredentialError) in
            try keyring().foreignItems(
                schema: GNOMEOnlineAccounts.schema, attribute: GNOMEOnlineAccounts.attribute, where: isWanted)
        }
    }

    // MARK: Files that are closed

    private static func encrypted(_ text: String) -> ImportedFile? {
        let lines = text.split(whereSeparator: \.isNewline).prefix(8)
        if lines.contains(where: { $0.hasPrefix("-----BEGIN PGP MESSAGE-----") }) { return sealedByPGP }
        guard lines.contains(where: { $0.hasPrefix("RCLONE_ENCRYPT_V") }) else { return nil }
        return ImportedFile(lacks: [
            lack("rclone.conf is encrypted", hint: "import the output of this command instead: rclone config show")
        ])
    }

    /// A message of OpenPGP in bytes begins with a packet that has a session key in it (RFC 9580 §5.1, §5.3).
    private static func openPGP(_ bytes: [UInt8]) -> ImportedFile? {
        guard let first = bytes.first, first & 0x80 != 0 else { return nil }
        let tag = first & 0x40 != 0 ? first & 0x3F : first >> 2 & 0x0F
        return tag == 1 || tag == 3 ? sealedByPGP : nil
    }

    private static var sealedByPGP: ImportedFile {
        ImportedFile(lacks: [
            lack("it is encrypted with OpenPGP", hint: "import the output of 'gpg --decrypt'")
        ])
    }
}

/// `rclone.conf`: the remotes that were signed in with a client of one's own. Those of rclone's own client are good
/// with no other.
enum RcloneFile {
    private struct Remote {
        let name: String
        var values: [String: String] = [:]
    }

    private static let google: Set<String> = ["drive", "google photos", "gphotos", "google cloud storage"]

    /// The remotes in a text; `nil` if no remote has a token.
    static func read(_ text: String) -> ImportedFile? {
        var file = ImportedFile(), isOne = false
        for remote in remotes(in: text) {
            guard let written = remote.values["token"] else { continue }
            isOne = true
            let name = UntrustedText.shown(remote.name)
            guard let clientID = remote.values["client_id"] else {
                file.lacks.append(
                    CredentialImporters.lack(
                        "the remote '\(name)' of rclone lacks client_id: other programs must not use tokens of "
                            + "rclone's own client", hint: "set your own client in rclone: rclone config"))
                continue
            }
            let token = (try? JSONValue.parse(written))?.object?["refresh_token"]?.string ?? ""
            guard !token.isEmpty else {
                file.lacks.append(
                    CredentialImporters.lack(
                        "the token of the remote '\(name)' of rclone lacks refresh_token",
                        hint: "sign in again with rclone: rclone config reconnect \(ShellQuoting.word(name + ":"))")
                )
                continue
            }
            let isGoogle = remote.values["type"].map(google.contains) ?? false
            file.signIns.append(
                ImportedSignIn(
                    program: "rclone", token: .refresh(Secret(token)), clientID: clientID,
                    issuer: isGoogle ? CredentialImporters.googleIssuer : nil))
        }
        return isOne ? file : nil
    }

    private static func remotes(in text: String) -> [Remote] {
        var remotes: [Remote] = []
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                remotes.append(Remote(name: String(line.dropFirst().prefix { $0 != "]" })))
                continue
            }
            let parts = line.split(separator: "=", maxSplits: 1).map { part in
                String(part.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
            }
            guard parts.count == 2, !parts[1].isEmpty, !remotes.isEmpty, !"#;".contains(parts[0].first ?? "#")
            else {
                continue
            }
            remotes[remotes.count - 1].values[parts[0]] = parts[1]
        }
        return remotes
    }
}
