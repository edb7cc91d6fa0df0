import CredentialCore
import StrictJSON
import TestPorts
import Testing

/// The files of other programs: the parts that are imported, and those that are reported as missing.
@Suite struct CredentialImportersTests {
    private func read(_ text: String) throws(CredentialError) -> ImportedFile { try read(Array(text.utf8)) }

    private func read(_ bytes: [UInt8]) throws(CredentialError) -> ImportedFile {
        try CredentialImporters.read(bytes.asUTF8) { () throws(CredentialError) in
            throw CredentialError(.storeUnavailable, "no keyring")
        }
    }

    private func refusal(_ text: String) -> String {
        do throws(CredentialError) { _ = try read(text) } catch { return "\(error.message) -- \(error.hint ?? "")" }
        return "nothing is refused"
    }

    // MARK: gh

    @Test(arguments: [
        "github.com:\n    user: ada # me\n    oauth_token: gho_A # from gh auth token\n",
        "github.com: \n    user: ada \n    oauth_token: gho_A \n",
        "\"github.com\":\n    user: \"ada\"\n    oauth_token: \"gho_A\"\n",
        "'github.com':\n    'user': 'ada'\n    'oauth_token': 'gho_A'\n",
        "\u{FEFF}github.com:\n    user: ada\n    oauth_token: gho_A\n",
        "# gh\n---\ngithub.com:\r\n  oauth_token: gho_A\r\n  user: ada\r\n  users:\r\n    ada:\r\n",
        "github.com:\n    users:\n        ada:\n            oauth_token: gho_A\n    user: ada\n    oauth_token: gho_A\n",
        "github.com:\n- user: ada\n  oauth_token: gho_A\n  protocol: https\n",
        "%YAML 1.2\n---\ngithub.com:\n\tuser: ada\n\toauth_token: gho_A\n...\n",
        "github.com:\r    user: ada\r    oauth_token: gho_A\r",
        "github.com: {user: ada, oauth_token: gho_A} # gh\n",
        "github.com: {\n  'user': ada, # me\n  \"oauth_token\": \"gho_A\",\n}\n",
        "{github.com: {user: ada, oauth_token: !!str gho_A}}\n",
        "github.com:\n  users: {ada: {oauth_token: gho_A}}\n  user: ada\n",
        "{\"github.com\": {\"user\": \"ada\", \"oauth_token\": \"gho_A\"}}",
        "github.com:\n    user: ada\n    oauth_token: >-\n      gho_A\n\n",
        "github.com:\n    oauth_token: |2 # a block\n      gho_A\n    user: ada\n",
        "github.com:\n    user: !!str ada\n    oauth_token: &token gho_A\n    editor: *token\n",
        "github.com:\n    user: ada\n    oauth_token:\n        gho_A\n",
    ])
    func `hosts.yml is read as people write it`(text: String) throws {
        let file = try read(text)
        #expect(file.lacks.isEmpty)
        #expect(
            file.signIns == [
                ImportedSignIn(program: "gh", token: .access(Secret("gho_A")), host: "github.com", username: "ada")
            ])
    }

    @Test(arguments: [
        ("github.com:\n    user: ada\n    oauth_token: *token\n", 3),
        ("github.com:\n    user: ada\n    oauth_token: [gho_A]\n", 3),
        ("github.com:\n    oauth_token: !!binary Z2hv\n", 2), ("github.com:\n    oauth_token: two words\n", 2),
        ("github.com:\n    oauth_token: gho_A\n      more\n", 2), ("github.com:\n    oauth_token: '>-'\n", 2),
        ("github.com:\n    oauth_token: |\n      gho_A\n      gho_B\n", 2),
        ("github.com:\n    oauth_token: \"gho\\x\"\n", 2), ("github.com:\n    oauth_token: gho_\u{E9}\n", 2),
        ("github.com:\n    users: *all\n    user: ada\n", 2), ("github.com:\n    <<: *one\n    user: ada\n", 2),
        ("# gh\ngithub.com: {user: ada, oauth_token: gho_A\n", 2), ("github.com: *one\n", 1),
    ])
    func `a line with content that is no token is named`(text: String, line: Int) {
        let told = refusal(text)
        #expect(told.contains("line \(line) of hosts.yml has no token that credmgr can read"), "\(told)")
        #expect(!told.contains("keyring"), "\(told)")
    }

    /// A text in UTF-16, with its byte order mark.
    private func utf16(_ text: String, isLittle: Bool) -> [UInt8] {
        ([0xFEFF] + Array(text.utf16)).flatMap { unit -> [UInt8] in
            let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isLittle ? bytes.reversed() : bytes
        }
    }

    @Test(arguments: [true, false]) func `files in UTF-16 are read`(isLittle: Bool) throws {
        let hosts = try read(
            utf16("github.com:\r\n    user: \u{1D49C}da\r\n    oauth_token: gho_A\r\n", isLittle: isLittle))
        #expect(hosts.signIns.map(\.username) == ["\u{1D49C}da"])
        let entry = #""secret": "rt", "client_id": "c", "environment": "e.example""#
        #expect(try read(utf16(cache(entry), isLittle: isLittle)).signIns.map(\.token) == [.refresh(Secret("rt"))])
        for damaged in [[0xFF, 0xFE, 0x41], [0xFE, 0xFF, 0xD8, 0x00]] as [[UInt8]] {
            #expect(damaged.asUTF8 == damaged)
        }
    }

    @Test(arguments: ["null", "~", "", "# gone", "Null", "\"\"", "''", "{}"])
    func `a token that is none is in gh's keyring, and its command is named`(token: String) {
        let told = refusal("github.com:\n    user: ada\n    oauth_token: \(token)\n")
        #expect(told.contains("the token of ada for github.com is not in hosts.yml: gh keeps it in the keyring"))
        #expect(told.hasSuffix("gh auth token --hostname github.com --user ada"), "\(told)")
    }

    @Test func `one user's token in the keyring keeps no other back`() throws {
        let file = try read(
            "ghe.example:\n    users:\n        ada:\n        bob:\n            oauth_token: gho_B\n    user: ada\n")
        #expect(file.signIns.map(\.username) == ["bob"])
        #expect(file.lacks.map(\.message).first?.contains("ada for ghe.example") == true && file.lacks.count == 1)
    }

    @Test(arguments: [
        "a: b\n", "just text\n", "[section]\nkey = value\n", "github.com:\n    oauth_token: \"gho\\x\"\n",
        "- a\n- b\n",
    ])
    func `a file that is not a valid hosts.yml gives no sign-in`(text: String) {
        #expect(refusal(text).contains("contains no account"), "\(refusal(text))")
    }

    // MARK: MSAL

    private func cache(_ entry: String) -> String {
        #"""
        {"Account": {"a": {"home_account_id": "o.t", "environment": "login.microsoftonline.com", "username": "ada@example.com"}},
         "RefreshToken": {"k": {\#(entry)}}}
        """#
    }

    @Test func `the cache of MSAL names the cloud and, of B2C, the policy`() throws {
        let object = "ad020f8e-b1ba-44b2-bd69-c22be86737f5", tenant = "ba6c0d94-a8da-45b2-83ae-33871f9c2dd8"
        for (home, policy) in [
            ("\(object)-b2c_1_susi.\(tenant)", "b2c_1_susi"), ("\(object).\(tenant)", nil), ("o.t", nil),
            ("\(object)-.\(tenant)", nil), ("no-guid-at-all-but-as-long-as-one-is-b2c_1_x.\(tenant)", nil),
        ] as [(String, String?)] {
            let entry =
                #""secret": "rt", "client_id": "c", "environment": "login.microsoftonline.com", "home_account_id": "\#(home)""#
            let signIn = try read(cache(entry)).signIns.first
            #expect(signIn?.policy == policy, "\(home)")
            #expect(signIn?.host == "login.microsoftonline.com" && signIn?.isHostBinding == true)
            #expect(signIn?.username == (home == "o.t" ? "ada@example.com" : nil))
        }
    }

    // MARK: Lacks

    @Test(arguments: [
        (#"{"RefreshToken": {"k": {"secret": "s", "client_id": "c"}}}"#, "in the cache of MSAL lacks environment"),
        (#"{"RefreshToken": {"k": {"environment": "e"}}}"#, "lacks secret, client_id"),
        (#"{"RefreshToken": {}, "AccessToken": {}}"#, "the cache of MSAL has no refresh token"),
        (
            #"{"issuer_url": "https://i.example", "client_id": "c"}"#,
            "the account of oidc-agent lacks refresh_token"
        ),
        (#"{"issuer_url": "https://i.example", "refresh_token": "r"}"#, "oidc-agent lacks client_id"),
        (#"{"type": "authorized_user", "client_id": "c"}"#, "the credentials of gcloud lack refresh_token"),
        (#"{"type": "service_account", "client_id": "c"}"#, "have the type service_account"),
        (#"{"registration": "google", "refresh_token": "r"}"#, "mutt_oauth2.py lacks client_id"),
        (#"{"registration": "google", "client_id": "c", "refresh_token": ""}"#, "lacks refresh_token"),
        (
            "[mine]\ntype = drive\ntoken = {\"refresh_token\":\"r\"}\n",
            "the remote 'mine' of rclone lacks client_id"
        ),
        ("[mine]\nclient_id = c\ntoken = {\"access_token\":\"r\"}\n", "'mine' of rclone lacks refresh_token"),
        ("# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\nabc\n", "rclone.conf is encrypted"),
        ("-----BEGIN PGP MESSAGE-----\n\nabc\n-----END PGP MESSAGE-----\n", "encrypted with OpenPGP"),
        ("github.com:\n    git_protocol: https\n", "github.com in hosts.yml has neither a user nor an oauth_token"),
    ])
    func `a known file reports its missing part`(text: String, lack: String) {
        #expect(refusal(text).contains(lack), "\(refusal(text))")
        #expect(refusal("\u{FEFF}" + text).contains(lack))
    }

    @Test func `an encrypted file in bytes is known, and others are not`() {
        func told(_ bytes: [UInt8]) -> String {
            do throws(CredentialError) { _ = try read(bytes) } catch { return error.message }
            return ""
        }
        #expect(told([0x85, 0x01, 0x0C, 0x03, 0xFF]).contains("OpenPGP"))
        #expect(told([0xC3, 0x0D, 0xFF]).contains("OpenPGP"))
        #expect(!told([0xFF, 0xD8, 0xFF]).contains("OpenPGP"))
    }

    @Test func `remotes of rclone beside each other are told apart`() throws {
        let file = try read(
            "[a]\ntype = drive\nclient_id = c\ntoken = {\"refresh_token\":\"1\"}\n[b]\ntype = sftp\nhost = h\n[c]\ntype = box\n"
                + "token = {\"refresh_token\":\"2\"}\n")
        #expect(file.signIns.map(\.token) == [.refresh(Secret("1"))])
        #expect(file.signIns.first?.issuer == "https://accounts.google.com")
        #expect(file.lacks.count == 1 && file.lacks[0].message.contains("'c'"))
    }
}
