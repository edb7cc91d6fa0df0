import Foundation

/// The `credmgr` that was built with the tests.
public enum BuiltProgram {
    /// Its path.
    public static let path: String = {
        let itself = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let places = CommandLine.arguments.filter { $0.hasPrefix("/") } + [itself]
        let folders = places.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let inBundle = folders.map { $0.appendingPathComponent("credmgr").path }
        return inBundle.first { FileManager.default.isExecutableFile(atPath: $0) } ?? "credmgr"
    }()
}
