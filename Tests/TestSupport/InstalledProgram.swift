import Foundation

/// Makes a program, such as a script, that can be run at once.
///
/// A process of its own writes it. If a program of many threads has a file open for writing while another thread
/// starts a process, that process has it open for a moment, too. The kernel does not run such a file (`ETXTBSY`).
///
/// - Throws: if it cannot be written.
public func installProgram(_ text: String, at path: String, mode: Int = 0o700) throws {
    struct Failure: Error { let errors: String }
    let installed = try ChildProcess(
        "install", ["-m", String(mode, radix: 8), "/dev/stdin", path], environment: ["PATH": "/usr/bin:/bin"]
    ).run(input: text)
    guard installed.exitStatus == 0 else { throw Failure(errors: installed.standardError) }
}
