import CredentialCore
import Platform

/// Refuses connections to addresses that the author of a URL may not name.
///
/// A name does not show its target, and its target may be another one a moment later. So the rule is applied to the
/// address that the socket is opened for.
final class ReachGuard {
    private let address: URI
    /// The first address that was refused.
    private var refused: SocketAddress?

    /// Guards the connections of a request to `address`; `nil` if its author may name any.
    init?(_ address: URI) {
        guard address.author != .user else { return nil }
        self.address = address
    }

    /// Whether a socket may be opened for an address.
    func admits(_ place: SocketAddress) -> Bool {
        let author = address.author
        // The user named the author's host: its own other URLs may be there, too.
        if author.mayName(place.reach, from: .internet) || author.host == address.host { return true }
        let own = author.host.map { SocketAddress.all(of: $0).map(\.reach).max() ?? .internet } ?? .internet
        if author.mayName(place.reach, from: own) { return true }
        refused = refused ?? place
        return false
    }

    /// The error of a transfer that failed after a refusal; `nil` if no connection was refused.
    func error() -> CredentialError? {
        guard let refused, let author = address.author.party else { return nil }
        return AddressAuthor.refusal(
            "\(address.host) is at \(refused.text), on this machine or its network: \(author) must not use this "
                + "address",
            of: "\(address.origin) at \(refused.text)", by: author, rule: .network,
            hint: "set the endpoint in the account type if you trust the address")
    }
}
