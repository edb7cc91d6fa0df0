/// An absolute folder in which `*` stands for any part of a name, and `**` for any number of names, also none: so that
/// `/srv/**` is `/srv` and everything below it.
struct FolderPattern {
    private let names: ArraySlice<Substring>

    /// Reads a pattern.
    init(_ text: String) { names = text.split(separator: "/")[...] }

    /// Whether a folder's absolute path is one of those meant.
    func fits(_ folder: String) -> Bool {
        Self.fits(names, folder.split(separator: "/")[...], any: "**") { pattern, name in
            Self.fits(Array(pattern)[...], Array(name)[...], any: "*") { $0 == $1 }
        }
    }

    private static func fits<Part: Equatable>(
        _ pattern: ArraySlice<Part>, _ parts: ArraySlice<Part>, any: Part, isLike: (Part, Part) -> Bool
    ) -> Bool {
        guard let first = pattern.first else { return parts.isEmpty }
        let rest = pattern.dropFirst()
        if first == any {
            return (parts.startIndex...parts.endIndex).contains {
                fits(rest, parts[$0...], any: any, isLike: isLike)
            }
        }
        guard let part = parts.first, isLike(first, part) else { return false }
        return fits(rest, parts.dropFirst(), any: any, isLike: isLike)
    }
}
