import CredentialCore

/// The requests of the tokens that a broker has released: a refused token is replaced by one of the same kind.
///
/// A tag stands for each token, as `Hasher` makes it under this process's key. A tag of two tokens gives a request
/// within the bounds of the same entry.
struct IssuedOrders: Sendable {
    /// The number of tokens that are kept; the oldest goes first.
    static let limit = 256

    private var tags: [Int] = []
    private var asks: [Int: TokenAsk] = [:]

    /// Returns the request that a token answered; `nil` for a token that is not known.
    func ask(of token: Secret, entry: String) -> TokenAsk? { asks[Self.tag(token, entry)] }

    /// Keeps the request that a token answers.
    mutating func keep(_ ask: TokenAsk, of token: Secret, entry: String) {
        let tag = Self.tag(token, entry)
        if asks.updateValue(ask, forKey: tag) != nil { tags.removeAll { $0 == tag } }
        tags.append(tag)
        if tags.count > Self.limit { asks[tags.removeFirst()] = nil }
    }

    private static func tag(_ token: Secret, _ entry: String) -> Int {
        var hasher = Hasher()
        hasher.combine(entry)
        hasher.combine(token.reveal())
        return hasher.finalize()
    }
}
