import Foundation
import FuzzTargets
import Testing

@Suite struct FuzzTests {
    private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fuzz/Corpus")

    /// The inputs of the tree and some that are made of them, the same ones every time. A violated rule ends the
    /// process; scripts/fuzz does the same with millions.
    @Test(arguments: FuzzTarget.all.map(\.name)) func `readers survive all inputs`(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let folder = Self.corpus.appendingPathComponent(name)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let inputs = try files.sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
        #expect(!inputs.isEmpty)
        target.read([])
        var mutator = Mutator(seed: 1)
        for input in inputs {
            target.read(input)
            for _ in 0..<200 { target.read(mutator.mutated(input, with: inputs)) }
        }
    }

    @Test func `every folder of inputs belongs to a target`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }
}
