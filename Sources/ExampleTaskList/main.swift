// A to-do list in the terminal, after the seeds' iOS samples. Run it against `credmgr demo --serve`:
//
//     swift run example-task-list BASE_URL [LINE]…     (the address that the demo prints)
//
// Lines are read from standard input if the command line has no lines.

import CredentialCore
import Glibc

guard let base = CommandLine.arguments.dropFirst().first else {
    print("usage: example-task-list BASE_URL [LINE]…\na line is one of: \(TaskList.words)")
    exit(2)
}

do {
    var list = try TaskList(base: base)
    let lines = CommandLine.arguments.dropFirst(2)
    var next = lines.makeIterator()
    while let line = lines.isEmpty ? readLine() : next.next() { try await list.perform(line) }
} catch {
    print("failed: \(error.message)")
    if let hint = error.hint { print("hint: \(hint)") }
    exit(error.code.exitStatus)
}
