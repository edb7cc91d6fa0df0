import Foundation

/// Makes a program, such as a script, that can be run at once.
///
/// A process of its own writes it: what a program of many threads has open for writing while another thread starts a
/// process is open there, too, for a moment, and as long the kernel runs no file that is (`ETXTBSY`).
///
/// - Throws: where it cannot be written.
public func installProgram(_ text: String, at path: String, mode: Int = 0o700) throws {
    struct Failure: Error { let errors: String }
    let installed = try ChildProcess(
        "install", ["-m", String(mode, radix: 8), "/dev/stdin", path], environment: ["PATH": "/usr/bin:/bin"]
    ).run(input: text)
    guard installed.exitStatus == 0 else { throw Failure(errors: installed.standardError) }
}
