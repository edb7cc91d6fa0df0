import Foundation
import Glibc
import TestSupport

/// A browser that signs Alice in and gives the page that it ends at.
///
/// The program does not wait for its browser, so the page comes through a pipe that a thread reads until its end.
struct PageReader {
    /// The browser's path.
    let path: String
    private let end: Background<ChildProcess.Outcome>

    /// Writes the browser into a home, for one sign-in.
    ///
    /// - Parameter script: the change that `sed` makes to the redirect.
    init(in home: Home, changing script: String = "") throws {
        let pipe = "\(home.path)/outside/page"
        path = try Self.browser(in: home, changing: script, givingItsPageTo: pipe)
        guard unsafe mkfifo(pipe, 0o600) == 0 else { throw POSIXError(.EIO) }
        end = Background { try ChildProcess("cat", [pipe]).run() }
    }

    /// The page that it ended at.
    func page() throws -> String { try end.value().standardOutput }

    /// A browser that signs Alice in, changes the redirect by a script of `sed`, and writes the page that it ends
    /// at into a file.
    static func browser(
        in home: Home, changing script: String = "", givingItsPageTo file: String = "/dev/null"
    ) throws -> String {
        _ = try Browser(in: home)
        let text = (home.text(of: "outside/browser") ?? "").replacingOccurrences(of: " --deliver", with: "")
        try home.write(text, to: "outside/robot", mode: 0o700)
        return try home.write(
            """
            #!/bin/sh
            end=$('\(home.path)/outside/robot' "$1" | sed '\(script)')
            curl -s "$end" > '\(file)'

            """, to: "outside/keeper", mode: 0o700)
    }
}
