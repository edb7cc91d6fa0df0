import CredentialCore
import Foundation
import LoopbackHTTP
import Platform
import Synchronization
import TestSupport
import Testing

/// The users whose answers the redirect listener takes. Only root can play another user.
@Suite(.needs(.root)) struct `Who brings a redirect` {
    private static let nobody = 65534

    /// Sends the redirect by a program of another user, which reads the answer or goes away at once.
    private func send(_ url: String, as user: Int, mapped: Bool = false, leaves: Bool = false) throws -> String {
        let script = """
            import socket, sys
            from urllib.parse import urlsplit
            parts = urlsplit(sys.argv[1])
            if \(mapped ? "True" : "False"):
                peer = socket.socket(socket.AF_INET6)
                peer.connect(("::ffff:127.0.0.1", parts.port))
            else:
                peer = socket.create_connection(("127.0.0.1", parts.port))
            peer.sendall(f"GET {parts.path}?{parts.query} HTTP/1.1\\r\\nHost: {parts.netloc}\\r\\n\\r\\n".encode())
            if \(leaves ? "True" : "False"):
                sys.exit()
            print(peer.recv(65536).decode())
            """
        let words = ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", "/usr/bin/python3", "-c", script, url]
        return try ChildProcess("setpriv", words, environment: ["PATH": "/usr/bin:/bin"]).run().standardOutput
    }

    private func listen(
        _ peers: AllowedRedirectPeers = .sameUser, stranger: @escaping @Sendable (UInt32?) -> Void = { _ in }
    ) throws -> RedirectListener {
        try RedirectListener(path: "/back", peers: peers, random: SystemRandom(), stranger: stranger)
    }

    private func waiting(_ listener: RedirectListener) -> Background<String> {
        Background {
            let url = try listener.wait(seconds: 60) { $0.contains("state=right") }
            listener.show(title: "taken", text: "")
            return url
        }
    }

    @Test(arguments: ["code=his", "error=access_denied"])
    func `Another user's answer is not taken, and ends nothing`(answer: String) throws {
        let strangers = Mutex<[UInt32?]>([])
        let listener = try listen { owner in strangers.withLock { $0.append(owner) } }
        let wait = waiting(listener)
        let his = listener.redirectURI + "?state=right&" + answer
        let page = try send(his, as: Self.nobody)
        #expect(page.hasPrefix("HTTP/1.1 403 "))
        #expect(page.contains("redirect_peers") && page.contains("uid \(Self.nobody)"))
        // A client that sends and goes leaves a socket behind that seems to be root's.
        for _ in 0..<5 { _ = try send(his, as: Self.nobody, leaves: true) }
        let mine = listener.redirectURI + "?state=right&code=mine"
        #expect(try send(mine, as: 0).contains("taken"))
        #expect(try wait.value() == mine)
        let told = strangers.withLock { $0 }
        #expect(told.first == UInt32(Self.nobody) && told.count == Set(told).count)
    }

    @Test func `An address of IPv4 in a socket of IPv6 is known as well`() throws {
        let listener = try listen()
        let wait = waiting(listener)
        #expect(
            try send(listener.redirectURI + "?state=right&code=his", as: Self.nobody, mapped: true).contains("403"))
        let mine = listener.redirectURI + "?state=right&code=mine"
        #expect(try send(mine, as: 0, mapped: true).contains("taken"))
        #expect(try wait.value() == mine)
    }

    @Test(arguments: [AllowedRedirectPeers.user(65534), .any])
    func `The configuration lets another user in`(peers: AllowedRedirectPeers) throws {
        let listener = try listen(peers)
        let wait = waiting(listener)
        let url = listener.redirectURI + "?state=right&code=x"
        #expect(try send(url, as: Self.nobody).contains("taken"))
        #expect(try wait.value() == url)
    }
}

@Suite struct `The word of redirect_peers` {
    @Test func `selects the accepted users`() throws {
        let same = try #require(AllowedRedirectPeers(word: "same-user")),
            other = try #require(AllowedRedirectPeers(word: "uid:7"))
        let any = try #require(AllowedRedirectPeers(word: "any"))
        for (peers, owners) in [(same, [1000, 0]), (other, [1000, 0, 7]), (any, [1000, 0, 7, 8])]
            as [(AllowedRedirectPeers, [UInt32])]
        {
            for owner in [1000, 0, 7, 8] as [UInt32] {
                #expect(peers.accept(owner, user: 1000) == owners.contains(owner))
            }
            #expect(peers.accept(nil, user: 1000) == (peers == .any))
        }
        for word in ["", "uid:", "uid:-1", "uid:x", "everybody", "ANY"] {
            #expect(AllowedRedirectPeers(word: word) == nil)
        }
    }
}
