package import CredentialCore

/// The result of the last call with the same words: the account, and the entry of the token cache.
///
/// A memo spares the next call from reading the type's definition and the group's list of accounts. It holds no
/// token, and it is believed only while every file that it was concluded from is unchanged.
package struct ResolvedCall: Sendable {
    /// The text of the token's key, which its entry is named by.
    let key: String
    /// The group.
    package let group: String
    /// The facts that the formats show.
    package let account: (id: String, type: String, username: String?)
    /// The policy; empty if there is no policy.
    let policy: String
    /// The user name beside the token in a response to git; `nil` if git sends the token as a bearer, and for all
    /// others.
    let gitUsername: String?

    /// How long one is kept, in seconds.
    private static let seconds: Int64 = 86_400

    /// Makes a memo.
    package init(
        key: String, group: String, account: (id: String, type: String, username: String?), policy: String,
        gitUsername: String? = nil
    ) {
        self.key = key
        self.group = group
        self.account = account
        self.policy = policy
        self.gitUsername = gitUsername
    }

    /// Reads the memo of a call; `nil` when there is no memo, or a file has changed since.
    static func read(_ words: CallSignature, _ place: FastPathEnvironment) -> ResolvedCall? {
        guard let name = words.memoName(in: place), let bytes = place.tokenCache.read(name) else { return nil }
        var reader = CacheEntryDecoder(bytes)
        guard let ties = CacheValidators(&reader), ties.hold(place.fileStates), let key = reader.string(),
            let group = reader.string(), let id = reader.string(), let type = reader.string(),
            let username = reader.optional(), let policy = reader.string(), let gitUsername = reader.optional(),
            reader.isAtEnd
        else { return nil }
        return ResolvedCall(
            key: key, group: group, account: (id, type, username), policy: policy, gitUsername: gitUsername)
    }

    /// Keeps this memo for a day.
    ///
    /// - Parameters:
    ///   - words: those of the call that found it out.
    ///   - ties: the files and settings that it was concluded from.
    package func keep(for words: CallSignature, _ ties: CacheValidators, in place: FastPathEnvironment) {
        guard let name = words.memoName(in: place), ties.canBeKept else { return }
        var writer = CacheEntryEncoder()
        ties.write(to: &writer)
        writer.put(key)
        writer.put(group)
        writer.put(account.id)
        writer.put(account.type)
        writer.putOptional(account.username)
        writer.put(policy)
        writer.putOptional(gitUsername)
        place.tokenCache.write(writer.bytes, name: name, seconds: Self.seconds)
    }
}
