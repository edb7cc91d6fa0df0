import Glibc

/// Finds programs as a shell does.
package enum ExecutablePath {
    /// The path of a program: of a word without a slash the first executable of that name in `PATH`.
    package static func find(_ word: String, environment: [String: String]) -> String? {
        if word.utf8.contains(UInt8(ascii: "/")) { return isExecutable(word) ? word : nil }
        return candidates(word, environment).first(where: isExecutable)
    }

    /// The paths that `PATH` leads to, whether a program exists there or not.
    static func candidates(_ word: String, _ environment: [String: String]) -> [String] {
        (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
            .filter { $0.utf8.first == UInt8(ascii: "/") }.map { "\($0)/\(word)" }
    }

    static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}
