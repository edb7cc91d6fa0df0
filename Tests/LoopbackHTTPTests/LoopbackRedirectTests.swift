import CredentialCore
import DemoProvider
import Foundation
import LoopbackHTTP
import Platform
import TestSupport
import Testing

@Suite struct `The redirect listener` {
    private let client = LoopbackClient()
    private let code = "a-code-that-nobody-may-see"

    private func listen(_ host: RedirectListener.Host = .localhost) throws -> RedirectListener {
        try RedirectListener(path: "/back", host: host, random: SystemRandom())
    }

    private func wait(_ listener: RedirectListener, formPostOrigins: [String] = []) -> Background<String> {
        Background {
            let url = try listener.wait(seconds: 60, formPostOrigins: formPostOrigins) {
                FormFields(query: URI($0)?.query)["state"] == "right"
            }
            listener.show(title: "ada <a@b> is signed in", text: "Nothing & all")
            return url
        }
    }

    private func port(_ listener: RedirectListener) throws -> UInt16 {
        try #require(URI(listener.redirectURI)?.port)
    }

    /// The hosts of redirect URIs that are listened at.
    private static let hosts = ["localhost", "127.0.0.1", "::1", "app.localhost"].compactMap(
        RedirectListener.Host.init)

    @Test func `listens at the loopback and its names only`() {
        #expect(Self.hosts.map(\.name) == ["localhost", "127.0.0.1", "[::1]", "app.localhost"])
        for foreign in ["127.0.0.2", "0.0.0.0", "::", "example.com", "localhost.example.com", "notlocalhost", ""] {
            #expect(RedirectListener.Host(foreign) == nil, "\(foreign)")
        }
    }

    @Test(arguments: hosts)
    func `gives the redirected URL and shows a page`(_ host: RedirectListener.Host) throws {
        let listener = try listen(host)
        #expect(listener.redirectURI == "http://\(host.name):\(try port(listener))/back")
        let waiting = wait(listener)
        let url = listener.redirectURI + "?state=right&code=\(code)=="
        let reply = try client.send("GET", url)
        #expect(try waiting.value() == url)
        #expect(reply.status == 200)
        #expect(reply.text.contains("<h1>ada &lt;a@b&gt; is signed in</h1>"))
        #expect(reply.text.contains("<p>Nothing &amp; all</p>"))
        #expect(reply.text.contains("return to the terminal"))
    }

    @Test func `shows a page that is plain, accessible and gives nothing away`() throws {
        let listener = try listen()
        let waiting = wait(listener)
        let reply = try client.send("GET", listener.redirectURI + "?state=right&code=\(code)")
        _ = try waiting.value()
        #expect(!reply.text.contains(code) && !reply.text.contains("right"))
        for part in [
            "<html lang=\"en\">", "<title>ada &lt;a@b&gt; is signed in</title>", "<main>", "<h1>",
            "prefers-color-scheme",
        ] {
            #expect(reply.text.contains(part))
        }
        #expect(!reply.text.contains("src=") && !reply.text.contains("http"))
        // The one script takes the code out of the address bar, and only its nonce allows it.
        let policy = try #require(reply.value(of: "content-security-policy"))
        let nonce = try #require(policy.components(separatedBy: "script-src 'nonce-").last?.prefix { $0 != "'" })
        #expect(policy.contains("default-src 'none'") && nonce.count >= 43)
        #expect(reply.text.components(separatedBy: "<script").count == 2)
        #expect(reply.text.contains("<script nonce=\"\(nonce)\">history.replaceState("))
        #expect(reply.value(of: "referrer-policy") == "no-referrer")
        #expect(reply.value(of: "cache-control") == "no-store")
    }

    @Test func `shows a refused sign-in without the provider's text`() throws {
        let listener = try listen()
        let waiting = wait(listener)
        let url =
            listener.redirectURI
            + "?error=access_denied&error_description=%3Cb%3EAADB2C90091%3C%2Fb%3E&state=right"
        let reply = try client.send("GET", url)
        #expect(try waiting.value() == url)
        #expect(!reply.text.contains("90091"))
    }

    struct Hostile: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var method = "GET"
        var target = "/back?state=right&code=x"
        var headers: [(name: String, value: String)] = []
        var body = ""
        var status: Int
    }

    static let hostile: [Hostile] = [
        Hostile(testDescription: "another path", target: "/other?state=right&code=x", status: 404),
        Hostile(testDescription: "the path encoded", target: "/%62ack?state=right&code=x", status: 404),
        Hostile(testDescription: "a path below", target: "/back/?state=right&code=x", status: 404),
        Hostile(testDescription: "the wrong state", target: "/back?state=wrong&code=x", status: 400),
        Hostile(testDescription: "no state", target: "/back?code=x", status: 400),
        Hostile(testDescription: "a rebound name", headers: [("Host", "evil.example")], status: 421),
        Hostile(testDescription: "no port in the name", headers: [("Host", "localhost")], status: 421),
        Hostile(testDescription: "another site", headers: [("Origin", "https://evil.example")], status: 403),
        Hostile(testDescription: "a page without origin", headers: [("Origin", "null")], status: 403),
        Hostile(
            testDescription: "an image of another page",
            headers: [
                ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image"), ("Sec-Fetch-Site", "cross-site"),
            ],
            status: 403),
        Hostile(
            testDescription: "a frame of another page",
            headers: [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")], status: 403),
        Hostile(
            testDescription: "a prefetch",
            headers: [("Sec-Purpose", "prefetch"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")],
            status: 403),
        Hostile(
            testDescription: "a script's form post", method: "POST", target: "/back",
            headers: [
                ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty"),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ], body: "state=right&code=x", status: 403),
        Hostile(testDescription: "HEAD", method: "HEAD", status: 405),
        Hostile(testDescription: "PUT", method: "PUT", status: 405),
        Hostile(testDescription: "OPTIONS", method: "OPTIONS", status: 405),
        Hostile(
            testDescription: "a form of another site", method: "POST", target: "/back",
            headers: [
                ("Origin", "https://evil.example"), ("Content-Type", "application/x-www-form-urlencoded"),
            ], body: "state=right&code=x", status: 403),
        Hostile(
            testDescription: "a body that is no form", method: "POST", target: "/back",
            headers: [("Content-Type", "text/plain")], body: "state=right&code=x", status: 415),
        Hostile(
            testDescription: "a form with a line break", method: "POST", target: "/back",
            headers: [("Content-Type", "application/x-www-form-urlencoded")], body: "state=right&code=x\r\n",
            status: 400),
        Hostile(
            testDescription: "a body that is too large", method: "POST", target: "/back",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: String(repeating: "x", count: (64 << 10) + 1), status: 413),
    ]

    @Test(arguments: hostile)
    func `refuses requests outside the sign-in and waits on`(_ request: Hostile) throws {
        let listener = try listen()
        let waiting = wait(listener)
        let port = try port(listener)
        var head = "\(request.method) \(request.target) HTTP/1.1\r\nConnection: close\r\n"
        if !request.headers.contains(where: { $0.name == "Host" }) { head += "Host: localhost:\(port)\r\n" }
        for header in request.headers { head += "\(header.name): \(header.value)\r\n" }
        head += "Content-Length: \(request.body.utf8.count)\r\n\r\n"
        let reply = try client.exchange(Array((head + request.body).utf8), port: port)
        #expect(String(decoding: reply, as: UTF8.self).hasPrefix("HTTP/1.1 \(request.status) "))
        let url = listener.redirectURI + "?state=right&code=good"
        _ = try client.send("GET", url)
        #expect(try waiting.value() == url)
    }

    @Test(arguments: ["GET", "POST"])
    func `takes a top-level navigation of a browser that says so`(_ method: String) throws {
        let listener = try listen()
        let waiting = wait(listener, formPostOrigins: ["https://op.example"])
        let port = try port(listener)
        let answer = "state=right&code=good", isPost = method == "POST"
        let fields = [
            "Host: localhost:\(port)", "Connection: close", "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Mode: navigate",
            "Sec-Fetch-Dest: document", "Content-Type: application/x-www-form-urlencoded",
            "Content-Length: \(isPost ? answer.utf8.count : 0)",
        ]
        let head = "\(method) /back\(isPost ? "" : "?" + answer) HTTP/1.1\r\n" + fields.joined(separator: "\r\n")
        let request = head + "\r\n\r\n" + (isPost ? answer : "")
        let reply = try client.exchange(Array(request.utf8), port: port)
        #expect(String(decoding: reply, as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
        #expect(try waiting.value() == listener.redirectURI + "?" + answer)
    }

    @Test func `finds the good request after ten thousand hostile ones`() throws {
        let listener = try listen()
        let waiting = wait(listener)
        let port = try port(listener)
        let head = " HTTP/1.1\r\nHost: localhost:\(port)\r\n"
        var refused = 0
        for round in 0..<100 {
            var text = ""
            for index in 0..<100 {
                text += "GET /back?state=\(round)-\(index)&code=x" + head
                text += index == 99 ? "Connection: close\r\n\r\n" : "\r\n"
            }
            let reply = String(decoding: try client.exchange(Array(text.utf8), port: port), as: UTF8.self)
            refused += reply.components(separatedBy: "HTTP/1.1 400 ").count - 1
        }
        #expect(refused == 10_000)
        let url = listener.redirectURI + "?state=right&code=good"
        _ = try client.send("GET", url)
        #expect(try waiting.value() == url)
    }

    @Test func `is not kept busy by clients that never finish a request`() throws {
        let listener = try listen()
        let waiting = wait(listener)
        let port = try port(listener)
        let slow = try (0..<200).map { _ in
            let connection = try RawConnection(port: port)
            connection.send("GET /back?state=right")
            return connection
        }
        let url = listener.redirectURI + "?state=right&code=good"
        _ = try client.send("GET", url)
        #expect(try waiting.value() == url)
        #expect(slow.count == 200)
    }

    @Test(arguments: ["https://login.example", "null"])
    func `takes a form from the provider`(_ origin: String) throws {
        let listener = try listen()
        let waiting = wait(listener, formPostOrigins: ["https://login.example"])
        let headers = [("Origin", origin), ("Content-Type", "application/x-www-form-urlencoded")]
        let reply = try client.send(
            "POST", listener.redirectURI, headers: headers, body: Array("code=a%2Bb&state=right".utf8))
        #expect(reply.status == 200)
        #expect(try waiting.value() == listener.redirectURI + "?code=a%2Bb&state=right")
    }

    @Test func `asks the browser for the fragment, with a script that only its nonce allows`() throws {
        let listener = try listen()
        let waiting = wait(listener)
        let page = try client.send("GET", listener.redirectURI)
        let policy = try #require(page.value(of: "content-security-policy"))
        let nonce = try #require(policy.components(separatedBy: "'nonce-").last?.prefix { $0 != "'" })
        #expect(nonce.count >= 43)
        #expect(page.text.contains("<script nonce=\"\(nonce)\">"))
        #expect(policy.contains("form-action 'self'"))
        let port = try port(listener)
        let headers = [
            ("Origin", "http://localhost:\(port)"), ("Content-Type", "application/x-www-form-urlencoded"),
        ]
        _ = try client.send("POST", listener.redirectURI, headers: headers, body: Array("code=x&state=right".utf8))
        #expect(try waiting.value() == listener.redirectURI + "?code=x&state=right")
    }

    @Test func `keeps a redirect that comes before the wait`() throws {
        let listener = try listen()
        let url = listener.redirectURI + "?state=right&code=early"
        let request = Background { try LoopbackClient().send("GET", url).status }
        #expect(try wait(listener).value() == url)
        #expect(try request.value() == 200)
    }

    @Test func `a provider's text may hold characters that a URL cannot, the code may not`() throws {
        let listener = try listen()
        let waiting = wait(listener, formPostOrigins: ["https://op.example"])
        func post(_ form: String) throws -> Int {
            try client.send(
                "POST", listener.redirectURI, headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array(form.utf8)
            ).status
        }
        for form in ["state=right&code=a b", "state=right&code=\u{e9}", "state=right&code=a&iss=b#"] {
            #expect(try post(form) == 400)
        }
        #expect(try post("state=right&error=access_denied&error_description=n\u{e9} #1\r\n") == 200)
        #expect(
            try waiting.value()
                == listener.redirectURI
                + "?state=right&error=access_denied&error_description=n%C3%A9%20%231%0D%0A")
    }

    @Test func `takes a code of 64 KiB`() throws {
        let listener = try listen()
        let waiting = wait(listener)
        let url = listener.redirectURI + "?state=right&code=" + String(repeating: "c", count: 64 << 10)
        #expect(try client.send("GET", url).status == 200)
        #expect(try waiting.value() == url)
    }

    @Test func `shows the page again when it is loaded again`() throws {
        let listener = try listen()
        let waiting = wait(listener)
        let url = listener.redirectURI + "?state=right&code=x"
        _ = try client.send("GET", url)
        #expect(try waiting.value() == url)
        #expect(try client.send("GET", url).text.contains("is signed in"))
    }

    @Test func `releases the browser if no result is reported`() throws {
        let listener = try listen()
        let url = listener.redirectURI + "?state=right&code=x"
        let request = Background { try LoopbackClient().send("GET", url).text }
        #expect(try listener.wait(seconds: 60) { $0.contains("state=right") } == url)
        listener.stop()
        #expect(try request.value().contains("see the terminal"))
    }

    @Test func `ends with a hint when no redirect arrives`() throws {
        let error = #expect(throws: CredentialError.self) { try listen().wait(seconds: 0) { _ in true } }
        #expect(error?.code == .temporary)
        #expect(error?.hint != nil)
    }

    @Test(arguments: ["back", "", "/a?b", "/a#b", "/a b", "/\u{7F}", "/é"])
    func `refuses a path that is none`(_ path: String) throws {
        let error = #expect(throws: CredentialError.self) {
            try RedirectListener(path: path, random: SystemRandom())
        }
        #expect(error?.code == .configuration)
    }
}
