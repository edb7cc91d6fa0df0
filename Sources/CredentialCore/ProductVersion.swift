/// The version of the products of this package: the command, the library, and their words to each other and to
/// servers.
public enum ProductVersion {
    /// Semantic Versioning; `scripts/release` writes it, with the tag of the same name.
    public static let current = "0.1.0"
    /// When it was released, as YYYY-MM-DD; written with the version.
    public static let date = "2026-11-22"
    /// The output of `--version`.
    package static var line: String { "credmgr \(current)\n" }
}
