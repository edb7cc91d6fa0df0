import Foundation
import Testing

/// `docs/contributing/seed-coverage.md` has the result of each row of the samples.
@Suite struct `The page on the samples` {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func page() throws -> [String] {
        try String(contentsOf: root.appendingPathComponent("docs/contributing/seed-coverage.md"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }

    /// The rows of the tables by their first cell.
    private static func rows() throws -> [(name: String, cells: [String])] {
        try page().compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return line.hasPrefix("| ") && cells.count == 5 && cells[0] != "Row" ? (cells[0], cells) : nil
        }
    }

    @Test func `No row is missing, and each has its result`() throws {
        let rows = try Self.rows()
        let wanted = (1...45).map { "N\($0)" } + (1...13).map { "A\($0)" } + (2...6).map { "2.\($0)" }
        #expect(rows.map(\.name) == wanted)
        for row in rows {
            #expect(["done", "different", "not here"].contains(row.cells[2]), "\(row.name)")
            // A row is done if a test shows it.
            #expect(row.cells[2] != "done" || row.cells[3].contains("`"), "\(row.name)")
            #expect(row.cells[4].contains("`"), "\(row.name)")
        }
    }

    /// The column of the library lists tests of a Swift program: a part that both share proves no claim about the
    /// library.
    @Test func `Each claim about the library has a test of the library`() throws {
        let tests = try FileManager.default.contentsOfDirectory(atPath: Self.root.path + "/Tests/LibraryTests")
            .filter { $0.hasSuffix(".swift") }
            .map { try String(contentsOfFile: Self.root.path + "/Tests/LibraryTests/" + $0, encoding: .utf8) }
            .joined()
        for row in try Self.rows() {
            let named = row.cells[4].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 && $0.element.split(separator: " ").count > 2 }.map(\.element)
            #expect(!named.isEmpty, "\(row.name)")
            for name in named { #expect(tests.contains("func `\(name)`"), "\(row.name): \(name)") }
        }
    }

    @Test func `Every test that it names exists`() throws {
        let files = FileManager.default.enumerator(atPath: Self.root.appendingPathComponent("Tests").path)
        var tests: Set<String> = []
        for case let name as String in files ?? .init() where name.hasSuffix(".swift") {
            let source = try String(contentsOf: Self.root.appendingPathComponent("Tests/" + name), encoding: .utf8)
            for piece in source.components(separatedBy: "func `").dropFirst() {
                tests.insert(String(piece.prefix { $0 != "`" }))
            }
        }
        #expect(tests.count > 700)
        // Words in code marks are tests if they are sentences; keys, commands and options are not.
        let named = try Self.page().flatMap { line in
            line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 && $0.element.split(separator: " ").count > 2 }.map {
                    String($0.element)
                }
        }
        #expect(named.count > 80)
        for name in named { #expect(tests.contains(name), "\(name)") }
    }

    /// The names of the two libraries that a program to be ported has in it.
    private static let names =
        [
            "InvalidRequest", "InvalidClient", "UnauthorizedClient", "RedirectURIMismatch", "AccessDenied",
            "UnsupportedResponseType", "InvalidScope", "CouldNotRefreshToken",
        ].map { "NXOAuth2\($0)ErrorCode" }
        + [
            "SUCCEEDED", "USER_CANCEL", "INVALID_ARGUMENT", "MISSING_AUTHENTICATE_HEADER",
            "AUTHENTICATE_HEADER_BAD_FORMAT", "CONNECTION_MISSING_RESPONSE", "UNAUTHORIZED_CODE_EXPECTED",
            "INVALID_REFRESH_TOKEN", "UNEXPECTED", "MULTIPLE_USERS", "USER_INPUT_NEEDED", "CACHE_PERSISTENCE",
            "BAD_CACHE_FORMAT", "USER_PROMPTED", "APPLICATION", "AUTHENTICATION", "AUTHORITY_VALIDATION",
            "NO_MAIN_VIEW_CONTROLLER", "MISSING_RESOURCES", "WRONG_USER",
        ].map { "AD_ERROR_\($0)" }
        + [
            "ClientID", "Secret", "AuthorizeURL", "TokenURL", "RedirectURL", "Scope", "TokenType",
            "TokenRequestHTTPMethod", "KeyChainGroup", "KeyChainAccessGroup", "AdditionalAuthenticationParameters",
            "CustomHeaderFields",
        ].map { "kNXOAuth2AccountStoreConfiguration\($0)" }
        + [
            "NXOAuth2AccountStoreAccountsDidChangeNotification", "NXOAuth2AccountCreated", "NXOAuth2AccountRemoved",
            "NXOAuth2AccountStoreDidFailToRequestAccessNotification", "NXOAuth2AccountDidChangeUserData",
            "NXOAuth2AccountDidChangeAccessToken", "NXOAuth2AccountDidLoseAccessToken",
            "NXOAuth2AccountDidFailToGetAccessToken", "NXOAuth2DidStartConnection", "NXOAuth2DidEndConnection",
            "NXOAuth2AccountStoreDidFailToRequestAccess", "kNXOAuth2AccountStoreAccountType",
            "kNXOAuth2AccountStoreError", "NXOAuth2AccountStoreErrorKey",
            "NXOAuth2AccountStoreNewAccountUserInfoKey", "NXOAuth2ErrorDomain", "NXOAuth2HTTPErrorDomain",
            "AD_SUCCEEDED", "AD_USER_CANCELLED", "AD_FAILED", "authenticationContextWithAuthority:error:", "scopes",
            "additionalScopes", "clientId", "redirectUri", "UniqueId", "OptionalDisplayableId",
            "RequiredDisplayableId", "AD_PROMPT_AUTO", "AD_PROMPT_ALWAYS", "AD_PROMPT_NEVER", "AD_FORCE_PROMPT",
            "AD_PROMPT_REFRESH_SESSION", "extraQueryParameters", "policy", "correlationId", "parentController",
            "enableFullScreen", "tokenCacheStore", "sharedGroup", "completionBlock", "result.accessToken",
            "result.tokenCacheStoreItem.profileInfo", "result.error",
        ]

    @Test func `No name is in the tables that neither library has`() throws {
        let tables = try String(
            contentsOf: Self.root.appendingPathComponent("docs/how-to/porting/tables.md"), encoding: .utf8)
        let pieces = tables.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
        let theirs = pieces.filter { piece in
            ["kNXOAuth2", "NXOAuth2", "AD_"].contains { piece.hasPrefix($0) } && !piece.contains("…")
        }
        #expect(theirs.count > 60)
        for name in theirs { #expect(Self.names.contains(name), "\(name)") }
    }

    @Test func `Every code, notification, key and parameter of the two libraries is in the tables`() throws {
        let tables = try String(
            contentsOf: Self.root.appendingPathComponent("docs/how-to/porting/tables.md"), encoding: .utf8)
        for name in Self.names { #expect(tables.contains("`\(name)`"), "\(name)") }
    }
}
