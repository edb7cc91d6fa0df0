import Foundation
import TestSupport
import Testing

/// The facts that packagers learn from the program about the libraries that it opens.
@Suite struct OpenedLibrariesTests {
    @Test func `Every library that is opened stands in the program's note, and no other`() throws {
        let sources = String(#filePath.split(separator: "/Tests/")[0]) + "/Sources"
        var opened: Set<String> = []
        for case let name as String in FileManager.default.enumerator(atPath: sources) ?? .init()
        where name.hasSuffix(".swift") {
            let text = try String(contentsOfFile: sources + "/" + name, encoding: .utf8)
            opened.formUnion(text.matches(of: /DynamicLibrary\("([^"]+)"/).map { String($0.output.1) })
        }
        let notes = try ChildProcess("/usr/bin/readelf", ["-p", ".note.dlopen", Home.program]).run().standardOutput
        let noted = Set(notes.matches(of: /"soname":\["([^"]+)"\]/).map { String($0.output.1) })
        #expect(noted == opened && opened.count > 4)
    }
}
