/// The names that other programs look for: the program answers to each of them with the command that they mean.
package enum ProgramAlias {
    /// The command of the shim in the place of `keyring`.
    package static let keyringShim = "__keyring"

    /// The words of a command line after the program's name. If it was called by a name that another program looks
    /// for, they begin with the command for that name.
    ///
    /// - Parameter arguments: all words, the program's name first.
    package static func words(of arguments: [String]) -> [String] {
        // Not `split`, which costs a cached token 2 % of its instructions.
        let path = arguments.first ?? ""
        let name =
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        var words = arguments
        if !words.isEmpty { words.removeFirst() }
        return switch name {
        case "git-credential-credmgr": ["git-credential"] + words
        case "docker-credential-credmgr": ["docker-credential"] + words
        case "terraform-credentials-credmgr": ["terraform"] + words
        case "cargo-credential-credmgr": ["cargo"] + words
        case "bazel-credential-credmgr": ["bazel"] + words
        case "oidc-token": ["oidc-token"] + words
        case "keyring": [keyringShim, "--"] + words
        default: words
        }
    }
}
