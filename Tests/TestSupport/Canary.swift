import Foundation
import Synchronization

/// The secrets that must not show: the codes and tokens that the providers of tests give out. Each run of `credmgr`
/// by ``ChildProcess`` is searched for them.
public enum Canary {
    private static let providers = Mutex<[Provider]>([])
    /// A shorter word may occur by chance.
    private static let shortest = 16
    /// The commands whose result on standard output is a secret.
    private static let tellers: Set<String> = [
        "token", "request", "exec", "demo", "export", "import", "git-credential", "docker-credential", "kubernetes",
        "keyring", "__keyring", "cargo", "terraform", "bazel", "goauth", "aws", "google",
        "az", "oidc-token",
    ]

    /// Watches over the secrets of a provider from now on.
    ///
    /// - Parameter secrets: those that it has given out so far; empty once it is gone.
    public static func watch(_ secrets: @escaping @Sendable () -> Set<String>) {
        providers.withLock { $0.append(Provider(secrets)) }
    }

    /// The first secret in a text or a file, as its beginning; `nil` without one.
    ///
    /// Words are the text between characters that no token has; one that begins like a secret counts, so that
    /// shortened ones are found.
    public static func secret(in content: some Collection<UInt8>) -> String? {
        let starts = Set(content.split { !isTokenByte($0) }.filter { $0.count >= shortest }.map(start))
        if starts.isEmpty { return nil }
        return providers.withLock { providers in
            for index in providers.indices {
                if let found = providers[index].starts().intersection(starts).first { return found }
            }
            return nil
        }
    }

    /// Looks through the output of a run of the program.
    static func check(_ outcome: ChildProcess.Outcome, of arguments: [String]) throws {
        if secret(in: outcome.standardError.utf8) != nil {
            throw Found(description: "credmgr \(arguments) shows a secret on standard error")
        }
        if tellers.isDisjoint(with: arguments), secret(in: outcome.standardOutput.utf8) != nil {
            throw Found(description: "credmgr \(arguments) shows a secret on standard output")
        }
    }

    /// A secret in a place that must not have one.
    struct Found: Error, CustomStringConvertible {
        let description: String
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// As much of a word as tells it from others: all JSON Web Tokens of one key begin alike, and are secrets all.
    private static func start(_ word: some Collection<UInt8>) -> String {
        String(decoding: word.prefix(shortest), as: UTF8.self)
    }

    private struct Provider {
        private let secrets: @Sendable () -> Set<String>
        private var known: Set<String> = []
        private var count = 0

        init(_ secrets: @escaping @Sendable () -> Set<String>) { self.secrets = secrets }

        mutating func starts() -> Set<String> {
            let now = secrets()
            if now.count > count {
                count = now.count
                known.formUnion(now.filter { $0.utf8.count >= shortest }.map { start($0.utf8) })
            }
            return known
        }
    }
}
