import Foundation
import Synchronization
import TestSupport

/// The versions of the programs that a run of the tests had do their job, for the table of
/// docs/how-to/other-programs.md, which `scripts/program-table` makes of them.
enum ProgramVersion {
    /// How each program of that table says its version.
    static let calls: [String: [String]] = [
        "git": ["git", "--version"], "pip": ["pip", "--version"], "uv": ["uv", "--version"],
        "twine": ["twine", "--version"], "cargo": ["cargo", "--version"], "terraform": ["terraform", "version"],
        "go": ["go", "version"], "npm": ["npm", "--version"], "docker": ["docker", "--version"],
        "skopeo": ["skopeo", "--version"], "kubectl": ["kubectl", "version", "--client"],
        "boto3": module("boto3"), "moto": module("moto"), "google-auth": module("google.auth"),
        "azure-identity": module("azure.identity"),
        "Dovecot": ["/usr/sbin/dovecot", "--version"], "curl": ["curl", "--version"],
        "msmtp": ["msmtp", "--version"], "mbsync": ["mbsync", "--version"], "neomutt": ["neomutt", "-v"],
        "mutt": ["mutt", "-v"], "offlineimap": ["offlineimap", "--version"], "aerc": ["aerc", "-v"],
        "getmail": ["getmail", "--version"],
    ]

    private static func module(_ name: String) -> [String] {
        [ProgramScene.clients + "/python3", "-c", "import \(name) as module; print(module.__version__)"]
    }

    private static let told = Mutex<Set<String>>([])

    /// Writes the version of a program that has done its job into the file that `PROGRAM_VERSIONS` names, once;
    /// ignores a program that is not in the table.
    static func tell(_ program: String, _ environment: [String: String]) {
        guard let file = ProcessInfo.processInfo.environment["PROGRAM_VERSIONS"], let call = calls[program],
            told.withLock({ $0.insert(program).inserted }),
            let said = try? ChildProcess("env", call, environment: environment).run(seconds: 60),
            let version = (said.standardOutput + said.standardError).firstMatch(of: /\d+(\.\d+)*/),
            let output = FileHandle(forWritingAtPath: file)
        else { return }
        _ = try? output.seekToEnd()
        try? output.write(contentsOf: Data("\(program)\t\(version.output.0)\n".utf8))
        try? output.close()
    }
}
