import CredentialCore
import StrictJSON

/// Google's metadata server of a virtual machine, as far as its client libraries use it.
struct GoogleRoutes: Sendable {
    let routes: CloudRoutes

    private static let root = "/computeMetadata"
    private static let prefix = "/computeMetadata/v1/"
    private static let account = "instance/service-accounts/"

    /// Whether a path is this server's.
    static func owns(_ path: String) -> Bool { path == "/" || path == root || path.hasPrefix(root + "/") }

    /// The hosts by which clients know this server.
    private static let hosts = [
        "127.0.0.1", "localhost", "[::1]", "metadata.google.internal", "metadata", "169.254.169.254",
    ]

    /// Whether the value of `Host` names this server, with any port.
    private static func isOwn(_ host: String) -> Bool {
        var name = host.lowercased()
        let port = name.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
        if name.utf8.count > port.utf8.count, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            name.removeLast(port.count + 1)
        }
        return hosts.contains(name)
    }

    /// Returns the response; each has the field that clients know the server by.
    ///
    /// - Parameter path: without a final slash.
    func reply(to head: HTTPRequestHead, path: String) -> HTTPReply {
        var reply: HTTPReply
        do throws(BrokerFailure) { reply = try answer(head, path) } catch { reply = .failure(error) }
        reply.fields.append(.init(name: "Metadata-Flavor", value: "Google"))
        return reply
    }

    private func answer(_ head: HTTPRequestHead, _ path: String) throws(BrokerFailure) -> HTTPReply {
        // A web page can make a browser send the server's field to the page's own host, whose name may lead to this
        // machine: so the host counts, too. A forwarded request is not this machine's.
        guard !head.has("x-forwarded-for"), !head.has("origin"), head.field("metadata-flavor") == "Google",
            head.field("host").map(Self.isOwn) ?? true
        else { return routes.refused(.caller) }
        guard head.method == "GET" else { return routes.otherMethod }
        guard let cloud = routes.configuration.clouds.gce else { throw .denied(.notInBroker) }
        if path == "/" { return .text("computeMetadata/\n") }
        guard path.hasPrefix(Self.prefix) else { return routes.notFound }
        switch path.dropFirst(Self.prefix.count) {
        case "project/project-id": return cloud.project.map(HTTPReply.text) ?? routes.notFound
        case "universe/universe-domain": return .text("googleapis.com")
        case let rest where rest.hasPrefix(Self.account):
            let words = rest.dropFirst(Self.account.count).split(separator: "/", omittingEmptySubsequences: false)
            let entry = try routes.entry(cloud.entry)
            guard words.count <= 2, words[0] == "default" || words[0] == email(of: entry) else {
                return routes.notFound
            }
            return try answer(head, entry, words.count == 1 ? "" : words[1])
        default: return routes.notFound
        }
    }

    /// Returns the requested data of the account.
    private func answer(
        _ head: HTTPRequestHead, _ entry: BrokerEntry, _ subject: Substring
    ) throws(BrokerFailure) -> HTTPReply {
        switch subject {
        case "":
            guard head.parameter("recursive")?.lowercased() == "true" else {
                return .text("aliases\nemail\nidentity\nscopes\ntoken\n")
            }
            return .json([
                "aliases": ["default"], "email": .string(email(of: entry)),
                "scopes": JSONValue(routes.scope(of: entry)),
            ])
        case "email": return .text(email(of: entry))
        case "scopes": return .text(routes.scope(of: entry).map { $0 + "\n" }.joined())
        case "token": return try token(head, entry)
        case "identity":
            guard let audience = head.parameter("audience") else { throw routes.malformed() }
            return .text(try routes.idToken(of: entry.name, audience: audience).reveal())
        default: return routes.notFound
        }
    }

    private func token(_ head: HTTPRequestHead, _ entry: BrokerEntry) throws(BrokerFailure) -> HTTPReply {
        guard !head.repeats("scopes") else { throw routes.malformed() }
        var ask = TokenAsk(entry: entry.name)
        ask.scope = head.parameter("scopes").map { list in
            list.split { $0 == "," || $0 == " " }.map(String.init)
        }
        let token = try routes.releaser.release(ask, to: routes.caller)
        let left = token.expiresOn.map { max(0, $0 - routes.now.epochSeconds) } ?? CloudRoutes.unknownLife
        return .json([
            "access_token": .string(token.accessToken.reveal()), "expires_in": .integer(left),
            "token_type": .string(token.tokenType),
        ])
    }

    private func email(of entry: BrokerEntry) -> String {
        if routes.configuration.isAnonymous { return "default" }
        return routes.account(entry)?.username ?? "default"
    }
}
