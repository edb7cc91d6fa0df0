import Foundation
import TestSupport
import Testing

/// The pages that DocC makes of the library: its catalog, and each public declaration with its comment.
@Suite struct DocumentationTests {
    private static let tools =
        ["/opt/swift/usr/bin", "/usr/bin", "/usr/libexec/swift/bin"]
        + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    private static let docc = tools.map { $0 + "/docc" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.needs(Need("docc, which comes with Swift", isThere: docc != nil)))
    func `DocC makes the pages of the library without a warning`() async throws {
        let compiler = try OutsideCompiler(), folder = compiler.folder.path
        try await compiler.extractSymbols(
            of: ["CredentialCore", "Credentials", "StrictJSON"], to: folder + "/graphs")
        let docc = try #require(Self.docc)
        let child = ChildProcess(
            docc,
            [
                "convert", OutsideCompiler.checkout + "/Sources/Credentials/Credentials.docc",
                "--additional-symbol-graph-dir", folder + "/graphs", "--output-path", folder + "/pages",
                "--fallback-display-name", "Credentials", "--fallback-bundle-identifier", "credmgr.Credentials",
                "--warnings-as-errors",
            ],
            environment: ["HOME": folder, "TMPDIR": folder, "PATH": "/usr/bin:/bin"])
        let outcome = try await offPool { try child.run(seconds: 600) }
        let said = outcome.standardOutput + outcome.standardError
        #expect(outcome.exitStatus == 0 && !said.contains("warning:"), "\(said)")
        // The article is among the pages, and so is its subject.
        for page in ["credentials/firstsignin", "credentials/accountstore", "credentialcore/credentialerror"] {
            let path = "\(folder)/pages/data/documentation/\(page).json"
            #expect(FileManager.default.fileExists(atPath: path), "\(page)")
        }
        let article = try String(
            contentsOfFile: folder + "/pages/data/documentation/credentials/firstsignin.json", encoding: .utf8)
        #expect(article.contains("Your first sign-in"))
        withExtendedLifetime(compiler.folder) {}
    }
}
