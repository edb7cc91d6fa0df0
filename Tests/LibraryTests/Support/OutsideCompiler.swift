import Foundation
import TestSupport
import Testing

/// The compiler as an outside package has it: only the modules that were built, and their public symbols.
struct OutsideCompiler {
    static let checkout = "/" + #filePath.split(separator: "/Tests/")[0].drop { $0 == "/" }
    private static var built: String { (BuiltProgram.path as NSString).deletingLastPathComponent }

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The errors in the sources; empty if they compile.
    func check(_ sources: [String: String]) async throws -> String {
        try await compile(["-typecheck"] + write(sources))
    }

    /// Makes a program of sources, with the libraries that a program of this package links; gives its path.
    func link(_ sources: [String: String]) async throws -> String {
        let list = Self.built + "/example-task-list.product/Objects.LinkFileList"
        let objects = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").map(String.init)
            .filter { !$0.contains("/example_task_list.build/") && !$0.contains("/example-task-list.build/") }
        let program = folder.path + "/program"
        let said = try await compile(
            try write(sources) + objects + ["-l:libsodium.a", "-lm", "-o", program])
        try #require(said.isEmpty, "\(said)")
        return program
    }

    /// Writes the public symbols of modules, with their comments, as DocC reads them.
    func extractSymbols(of modules: [String], to folder: String) async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for module in modules {
            let said = try await run(
                "swift",
                ["symbolgraph-extract", "-module-name", module, "-target", Self.target, "-output-dir", folder])
            try #require(said.isEmpty, "\(said)")
        }
    }

    private static var target: String {
        #if arch(arm64)
        "aarch64-unknown-linux-gnu"
        #else
        "x86_64-unknown-linux-gnu"
        #endif
    }

    private func write(_ sources: [String: String]) throws -> [String] {
        try sources.sorted { $0.key < $1.key }.map { name, source in
            let path = folder.path + "/" + name
            try source.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
    }

    private func compile(_ arguments: [String]) async throws -> String {
        try await run("swiftc", ["-swift-version", "6", "-warnings-as-errors"] + arguments)
    }

    /// Runs a Swift tool that is to know the modules; gives its errors.
    private func run(_ tool: String, _ arguments: [String]) async throws -> String {
        let maps =
            FileManager.default.enumerator(atPath: Self.checkout + "/Sources")?.compactMap { $0 as? String }
            .filter { $0.hasSuffix("/module.modulemap") }
            .map { Self.checkout + "/Sources/" + ($0 as NSString).deletingLastPathComponent } ?? []
        let words =
            [tool] + arguments + ["-I", Self.built + "/Modules"] + maps.flatMap { ["-I", $0] }
        let child = ChildProcess(
            "/usr/bin/env", words,
            environment: ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "TMPDIR"].contains($0.key) })
        let outcome = try await offPool { try child.run(seconds: 300) }
        return outcome.exitStatus == 0
            ? "" : outcome.standardOutput + outcome.standardError + "(\(outcome.exitStatus))"
    }
}
