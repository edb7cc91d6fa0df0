import DemoProvider
import Foundation
import TestSupport
import Testing

/// A program of another developer, with this library alone.
@Suite struct OutsideTests {
    /// The API that the library promises, as `docs/` shows it and as earlier programs use it.
    private static let promised = """
        import CredentialCore
        import Credentials

        func promised(_ request: HTTPRequest, _ value: String) async throws(CredentialError) {
            let store = try AccountStore()
            var type = AccountType(name: "Work", adapter: "azure-b2c", clientID: "c")
            type.authority = "https://contoso.b2clogin.com/contoso.onmicrosoft.com/"
            type.policies = ["sign-in": "b2c_1_sign_in"]
            type.redirectURI = "http://localhost"
            type.apiBase = "https://tasks.example.com"
            try store.configure(type, persisting: true)
            let account = try await store.signIn(
                toType: "Work", as: nil, policy: nil, scope: [], parameters: [:], prompt: .auto,
                interaction: { url in print(url) })
            _ = try await store.signIn(toType: "Work", as: account, prompt: .raw("consent"), interaction: nil)
            let token = try await store.token(
                of: account, policy: nil, scope: nil, resource: nil, audience: nil, minimumValidity: nil,
                forceRefresh: false, interaction: .never)
            let reply = try await store.send(request, as: account, progress: { _ in })
            let claims = try store.claims(of: account, policy: nil)
            try await store.signOut(account, policy: nil, revoking: true)
            try store.setDefault(account)
            try store.setUserData(["key": value], of: account)
            print(reply.status, token.expiresAt, claims.count, store.userData(of: account).count)
            for await change in try store.changes() { print(change.kind.rawValue) }
        }

        func promised(_ store: AccountStore) throws {
            do {
                print(try store.accounts(ofType: "Work").count)
            } catch {
                print(error.code.exitStatus)
            }
            let address = WebAddress("https://tasks.example.com/")
            print(address.map { HTTPRequest(address: $0).method } ?? "")
        }

        func isSendable(_ value: some Sendable) {}
        func promised(_ store: AccountStore, _ type: AccountType) {
            isSendable(store)
            isSendable(type)
            Task.detached { try await store.signOutAll() }
        }

        """

    @Test func `the documented examples compile, in Swift 6 and without a warning`() async throws {
        #expect(try await OutsideCompiler().check(["promised.swift": Self.promised]) == "")
    }

    @Test func `a program with nothing but the library signs in, calls the API and signs out`() async throws {
        let world = try LibraryWorld()
        let source = """
            import CredentialCore
            import Credentials
            import Glibc

            let base = CommandLine.arguments[1]
            let store = try AccountStore()
            var type = AccountType(name: "Outside", adapter: "azure-b2c", clientID: "580e250c-8f26-49d0-bee8-1c078add1609")
            type.authority = base + "/exampleb2c.onmicrosoft.com/"
            type.policies = ["sign-in": "b2c_1_sign_in"]
            type.apiBase = base
            try store.configure(type)
            let account = try await store.signIn(toType: "Outside") { url in
                print("open", url)
                fflush(nil)
            }
            print("in", account.shownName)
            let reply = try await store.send(HTTPRequest(address: WebAddress(base + "/tasks")!), as: account)
            print("status", reply.status)
            try await store.signOut(account)
            print("left", try store.accounts().count)

            """
        let compiler = try OutsideCompiler()
        defer { withExtendedLifetime(compiler.folder) {} }
        let program = try await compiler.link(["main.swift": source])
        // The person reads the page's address from the program's output.
        let script = """
            mkfifo '\(world.path)/out'
            '\(program)' '\(world.base)' > '\(world.path)/out' &
            while read -r word rest; do
                printf '%s %s\\n' "$word" "$rest"
                if [ "$word" = open ]; then
                    OIDC_LOGIN_PASSWORD="\(LibraryWorld.alice.password.reveal())" python3 \
                        '\(Self.robot)' "$rest" --user '\(LibraryWorld.alice.email)' --deliver > /dev/null &
                fi
            done < '\(world.path)/out'
            wait
            """
        let child = ChildProcess("/bin/sh", ["-c", script], environment: world.environment)
        let outcome = try await offPool { try child.run(seconds: 120) }
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("open http") == true, "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(lines.dropFirst() == ["in alice@example.com", "status 200", "left 0"], "\(outcome.standardError)")
    }

    /// SwiftPM's own reading of another developer's package: its manifest, this package by its path, and the
    /// product by its name. To build it takes SwiftPM minutes, as everything is compiled once more:
    /// `scripts/check-library`.
    @Test func `SwiftPM finds the product for another developer's package`() async throws {
        let folder = try TemporaryFolder(), checkout = OutsideCompiler.checkout
        func resolve(_ package: String) async throws -> ChildProcess.Outcome {
            let child = ChildProcess(
                "/usr/bin/env",
                [
                    "swift", "package", "--package-path", package, "--scratch-path", package + "/scratch",
                    "--cache-path", folder.path + "/cache", "show-dependencies",
                ],
                environment: ProcessInfo.processInfo.environment.filter {
                    ["PATH", "HOME", "TMPDIR"].contains($0.key)
                })
            return try await offPool { try child.run(seconds: 300) }
        }
        let manifest = try String(contentsOfFile: checkout + "/Tests/Outside/Package.swift", encoding: .utf8)
        for (product, status) in [("Credentials", Int32(0)), ("Credential", 1)] {
            let package = folder.path + "/" + product
            try FileManager.default.createDirectory(atPath: package, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: checkout + "/Tests/Outside/Sources", toPath: package + "/Sources")
            try manifest.replacingOccurrences(of: "\"../..\"", with: "\"\(checkout)\"")
                .replacingOccurrences(of: "\"Credentials\"", with: "\"\(product)\"")
                .write(toFile: package + "/Package.swift", atomically: true, encoding: .utf8)
            let outcome = try await resolve(package)
            #expect(outcome.exitStatus == status, "\(outcome.standardOutput)\(outcome.standardError)")
            if status == 0 {
                #expect(outcome.standardOutput.contains("<\(checkout)@"), "\(outcome.standardOutput)")
            } else {
                #expect(outcome.standardError.contains("'Credential'"), "\(outcome.standardError)")
            }
        }
        withExtendedLifetime(folder) {}
    }

    private static let robot = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Servers/oidc-login").path

    /// Every block of Swift in the pages compiles, a page at a time.
    @Test func `the code of the pages compiles`() async throws {
        let checkout = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let porting = checkout.appendingPathComponent("docs/how-to/porting")
        var pages = try FileManager.default.contentsOfDirectory(atPath: porting.path).filter { $0.hasSuffix(".md") }
            .map { porting.appendingPathComponent($0) }
        pages.append(checkout.appendingPathComponent("docs/reference/swift-api.md"))
        pages.append(checkout.appendingPathComponent("Sources/Credentials/Credentials.docc/FirstSignIn.md"))
        var sources: [String: String] = [:]
        for (number, page) in pages.enumerated() {
            let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```swift\n")
                .dropFirst()
                .compactMap { $0.components(separatedBy: "\n```").first }
            let lines = blocks.joined(separator: "\n").components(separatedBy: "\n")
            let imports = Set(
                lines.filter { $0.hasPrefix("import ") } + ["import CredentialCore", "import Credentials"])
            let body = lines.filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
            if body.isEmpty { continue }
            sources["page\(number).swift"] =
                imports.sorted().joined(separator: "\n") + "\n// \(page.lastPathComponent)\n"
                + "func page\(number)() async throws {\n\(body)\n}\n"
        }
        #expect(sources.count >= 4)
        let compiler = try OutsideCompiler()
        let said = try await compiler.check(sources)
        #expect(said.isEmpty, "\(said)")
        withExtendedLifetime(compiler.folder) {}
    }

    @Test func `an adapter in Swift signs in by the flows that ours have, and passes their suite`() async throws {
        let held = try HeldProvider(), world = try LibraryWorld()
        let adapter = try String(
            contentsOfFile: OutsideCompiler.checkout + "/Plugins/examples/swift-adapter/NotesAdapter.swift",
            encoding: .utf8)
        let source = """
            import CredentialCore
            import Credentials

            var options = AccountStore.Options()
            options.adapters = [NotesAdapter()]
            let store = try AccountStore(options)
            var type = AccountType(name: "Notes", adapter: "notes", clientID: "client")
            let base = CommandLine.arguments[1]
            type.endpoints = [.authorization: base + "/authorize", .token: base + "/token"]
            type.redirectURI = "http://localhost:1/back"
            try store.configure(type)
            for check in try await store.conformance(of: type) { print(check.name, check.outcome) }
            let prepared = try await store.prepareAuthorization(ofType: "Notes")
            let account = try await store.handleRedirect("http://localhost:1/back?code=c&state=" + prepared.state)
            print("in", account.shownName, prepared.url.contains("view=desktop"))
            _ = try await store.token(of: account, forceRefresh: true)
            print("refreshed")

            """
        let compiler = try OutsideCompiler()
        defer { withExtendedLifetime(compiler.folder) {} }
        let program = try await compiler.link(["main.swift": source, "NotesAdapter.swift": adapter])
        let child = ChildProcess(program, [held.base], environment: world.environment)
        let outcome = try await offPool { try child.run() }
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        #expect(lines.count == 12, "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(!lines.contains { $0.contains("failed") }, "\(outcome.standardOutput)")
        #expect(lines.suffix(2) == ["in ann true", "refreshed"], "\(outcome.standardError)")
    }

    @Test func `our own adapters pass the suite by the library's call`() async throws {
        let held = try HeldProvider(), world = try LibraryWorld(), store = try world.store(configuring: false)
        for type in [held.type, world.type] {
            let checks = try await store.conformance(of: type)
            #expect(checks.count == 10)
            #expect(checks.allSatisfy { if case .failed = $0.outcome { false } else { true } }, "\(checks)")
        }
    }
}
