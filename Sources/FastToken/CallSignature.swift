package import CredentialCore

/// The words of a call that decide which token it means and which name its memo has.
package struct CallSignature: Sendable, Hashable {
    /// The caller, and its message in addition to the options.
    package enum Caller: Sendable, Hashable {
        /// A user or program that calls `token`.
        case caller
        /// `kubectl`, which calls `kubernetes` and says the rest in `KUBERNETES_EXEC_INFO`.
        case kubectl
        /// git, which calls `git-credential get` and says the rest in this message, on standard input.
        case git(message: [UInt8])
    }

    /// The caller.
    package var asker: Caller
    /// `--group`.
    package var group: String?
    /// `--type`.
    package var type: String?
    /// `--account`.
    package var account: String?
    /// `--policy`.
    package var policy: String?
    /// The words of each `--scope`.
    package var scope: [String]
    /// `--resource`.
    package var resource: String?
    /// `--audience`.
    package var audience: String?

    /// Makes words; an argument that is left out was not given.
    package init(
        group: String? = nil, type: String? = nil, account: String? = nil, policy: String? = nil,
        scope: [String] = [], resource: String? = nil, audience: String? = nil, asker: Caller = .caller
    ) {
        self.asker = asker
        self.group = group
        self.type = type
        self.account = account
        self.policy = policy
        self.scope = scope
        self.resource = resource
        self.audience = audience
    }

    /// The name of the memo of a call with these words: all that decides the answer, a line each. Calls that differ
    /// in any of it have different names; ``CacheKey`` keeps it apart from all else that the cache has.
    ///
    /// - Returns: `nil` if a word has a line break, which would blur the name, or a message is no text: such a call
    ///   has no memo.
    package func memoName(in place: FastPathEnvironment) -> CacheKey? {
        // Not `joined`: the runtime would search all conformances for its generic code.
        var name = place.dataHome
        var breaks = 0
        func add(_ part: String) {
            name += "\n"
            name += part
            breaks += 1
        }
        for folder in place.typeFolders { add(folder) }
        add(place.configurationFile)
        add(group ?? place.variable("CREDMGR_GROUP") ?? "")
        add(type ?? place.variable("CREDMGR_TYPE") ?? "")
        add(account ?? place.variable("CREDMGR_ACCOUNT") ?? "")
        add(policy ?? "")
        var scopes = ""
        for word in scope { scopes += scopes.isEmpty ? word : " " + word }
        add(scopes)
        add(resource ?? "")
        add(audience ?? "")
        for byte in name.utf8 where byte == UInt8(ascii: "\n") { breaks -= 1 }
        guard breaks == 0, let said = said(in: place) else { return nil }
        name += "\n"
        name += said
        return .memo(name)
    }

    /// Returns the caller's message, word for word, with the caller's own name in front; it may have line breaks,
    /// and comes last.
    private func said(in place: FastPathEnvironment) -> String? {
        switch asker {
        case .caller: "token"
        case .kubectl: "kubernetes\n" + (place.variable(ExecCredential.variable) ?? "")
        case .git(let message): String(validating: message, as: UTF8.self).map { "git-credential\n" + $0 }
        }
    }
}
