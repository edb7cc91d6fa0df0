import CredentialCore

/// `credmgr token`, answered from the cache before anything else of the program is made.
///
/// Only plain calls are read here: whatever is unusual, and every fault, is left to the ordinary parser. There are no
/// dictionaries and no sets on this way: the first one makes the Swift runtime search every conformance of the
/// program, which costs as much as all the rest.
package enum FastToken {
    /// What to print, if the call is a plain one and the cache has the token.
    ///
    /// - Parameters:
    ///   - words: the words behind the program's name.
    ///   - place: made only for a plain call.
    package static func answer(_ words: [String], in place: () -> FastPlace?) -> [UInt8]? {
        guard let call = FastTokenCall(words), let place = place(),
            let cached = CachedToken.read(call.query, group: call.group, place)
        else { return nil }
        let presentation = TokenPresentation(
            accessToken: cached.token.token, tokenType: cached.token.tokenType, expiresAt: cached.token.expiresAt,
            scope: cached.token.scope, policy: cached.memo.policy.isEmpty ? nil : cached.memo.policy,
            accountID: cached.memo.account.id, accountType: cached.memo.account.type,
            username: cached.memo.account.username, refreshed: false)
        return try? presentation.bytes(as: call.format)
    }
}

/// The words of a plain `token` call.
struct FastTokenCall {
    private(set) var query = TokenQuery()
    private(set) var group: String?
    private(set) var format = TokenFormat.token
    private var hasFormat = false

    /// Reads the words; `nil` for a call that is not plain.
    init?(_ words: [String]) {
        var isToken = false
        var index = 0
        while index < words.count {
            let word = words[index]
            index += 1
            guard word.utf8.first == UInt8(ascii: "-") else {
                if isToken || word != "token" { return nil }
                isToken = true
                continue
            }
            switch word {
            case "--no-input", "--quiet", "-q": continue
            default: break
            }
            let (name, attached) = Self.parts(of: word)
            var value = attached
            if value == nil, index < words.count {
                value = words[index]
                index += 1
                if value?.utf8.first == UInt8(ascii: "-") { return nil }
            }
            guard let value, take(value, for: name) else { return nil }
        }
        if !isToken { return nil }
    }

    private static func parts(of word: String) -> (name: String, value: String?) {
        guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (word, nil) }
        return (String(word[..<equals]), String(word[word.utf8.index(after: equals)...]))
    }

    /// Takes an option's value; `false` for other options, second values and bad ones.
    private mutating func take(_ value: String, for name: String) -> Bool {
        // An empty value is a mistake, and a line break would blur the name of the memo.
        if value.isEmpty || value.utf8.contains(0x0A) { return false }
        switch name {
        case "--type": return Self.put(value, &query.target.type)
        case "--account": return Self.put(value, &query.target.account)
        case "--group": return Self.put(value, &group)
        case "--policy": return Self.put(value, &query.policy)
        case "--resource": return Self.put(value, &query.resource)
        case "--audience": return Self.put(value, &query.audience)
        case "--scope":
            query.scope += value.split(separator: " ").map(String.init)
            return true
        case "--min-valid":
            guard query.freshness.minimumValidity == nil, let seconds = Int64(value),
                TokenQuery.minimumValidityRange.contains(seconds)
            else { return false }
            query.freshness.minimumValidity = seconds
            return true
        case "--format":
            // A credential for Kubernetes depends on a variable more.
            guard !hasFormat, let named = TokenFormat(rawValue: value), named != .execCredential else {
                return false
            }
            hasFormat = true
            format = named
            return true
        default: return false
        }
    }

    private static func put(_ value: String, _ place: inout String?) -> Bool {
        if place != nil { return false }
        place = value
        return true
    }
}
