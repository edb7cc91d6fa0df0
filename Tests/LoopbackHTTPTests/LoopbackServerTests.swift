import CredentialCore
import DemoProvider
import Foundation
import LoopbackHTTP
import Synchronization
import TestSupport
import Testing

@Suite struct `The loopback server` {
    private let client = LoopbackClient()

    private func echo(ipv6: Bool = true, limits: ServerLimits = ServerLimits()) throws -> LoopbackServer {
        try LoopbackServer(at: ipv6 ? .both : .ipv4, limits: limits) { request in
            let lines = [request.method, request.path, request.query ?? "-", String(request.body.count)]
            return .text(200, lines.joined(separator: "\n"))
        }
    }

    @Test func `answers on IPv4 and IPv6 with one port`() throws {
        let server = try echo()
        let four = try client.send("GET", "http://127.0.0.1:\(server.port)/x")
        let six = try client.send("GET", "http://[::1]:\(server.port)/x")
        #expect(four.status == 200)
        #expect(six.text == four.text)
    }

    @Test func `hands path and query over as they were sent`() throws {
        let server = try echo()
        let reply = try client.send("GET", "http://127.0.0.1:\(server.port)/a%20b/%2e%2e?x=%41&y=1+2")
        #expect(reply.text == "GET\n/a%20b/%2e%2e\nx=%41&y=1+2\n0\n")
    }

    @Test func `forbids caching and sniffing on each reply`() throws {
        let server = try echo()
        let reply = try client.send("GET", "http://127.0.0.1:\(server.port)/")
        #expect(reply.value(of: "cache-control") == "no-store")
        #expect(reply.value(of: "x-content-type-options") == "nosniff")
    }

    @Test func `takes a request line of 96 KiB`() throws {
        let server = try echo()
        let query = "code=" + String(repeating: "x", count: 96 << 10)
        let reply = try client.send("GET", "http://127.0.0.1:\(server.port)/?\(query)")
        #expect(reply.text == "GET\n/\n\(query)\n0\n")
    }

    @Test func `takes a body up to its limit and no further`() throws {
        let server = try echo(limits: ServerLimits(bodyBytes: 1000))
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(
            try client.send("POST", url, body: [UInt8](repeating: 65, count: 1000)).text == "POST\n/\n-\n1000\n")
        #expect(try client.send("POST", url, body: [UInt8](repeating: 65, count: 1001)).status == 413)
    }

    @Test func `ends a connection when its chunked body passes the limit`() throws {
        let server = try echo(limits: ServerLimits(bodyBytes: 1000))
        let chunk = "400\r\n" + String(repeating: "A", count: 1024) + "\r\n0\r\n\r\n"
        let head = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        let reply = try client.exchange(Array((head + chunk).utf8), port: server.port)
        #expect(!String(decoding: reply, as: UTF8.self).contains("200 OK"))
    }

    @Test func `makes room for a newcomer when silent clients hold every connection`() throws {
        let server = try echo(ipv6: false, limits: ServerLimits(connections: 8, idleSeconds: 600))
        let silent = try (0..<40).map { index in
            let connection = try RawConnection(port: server.port)
            if index % 2 == 0 { connection.send("GET / HTTP/1.1\r\nHost: localh") }
            return connection
        }
        for _ in 0..<20 {
            #expect(try client.send("GET", "http://127.0.0.1:\(server.port)/").status == 200)
        }
        #expect(silent[0].readToEnd() == "", "the oldest connection was ended")
    }

    @Test func `serves others while a handler blocks`() throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { request in
            if request.path == "/slow" { gate.wait() }
            return .text(200, "done")
        }
        let slow = Background { try LoopbackClient().send("GET", "http://127.0.0.1:\(server.port)/slow").status }
        #expect(try client.send("GET", "http://127.0.0.1:\(server.port)/quick").status == 200)
        gate.signal()
        #expect(try slow.value() == 200)
    }

    @Test func `waits for running handlers when it stops`() throws {
        let entered = DispatchSemaphore(value: 0), leave = DispatchSemaphore(value: 0)
        let finished = Atomic(false)
        let server = try LoopbackServer { _ in
            entered.signal()
            leave.wait()
            finished.store(true, ordering: .sequentiallyConsistent)
            return .text(200, "done")
        }
        let port = server.port
        let request = Background { try? LoopbackClient().send("GET", "http://127.0.0.1:\(port)/").status }
        try #require(entered.wait(timeout: .now() + 60) == .success, "no request within 60 s")
        let stopping = Background { server.stop() }
        leave.signal()
        try stopping.value()
        let hasFinished = finished.load(ordering: .sequentiallyConsistent)
        #expect(hasFinished)
        _ = try request.value()
        #expect(throws: CredentialError.self) { try client.send("GET", "http://127.0.0.1:\(port)/") }
        server.stop()
    }

    @Test func `takes the first port that is free`() throws {
        let first = try echo()
        let second = try echo()
        second.stop()
        let third = try LoopbackServer(ports: [first.port, second.port]) { _ in .text(200, "third") }
        #expect(third.port == second.port)
        let error = #expect(throws: CredentialError.self) {
            try LoopbackServer(ports: [first.port]) { _ in .text(200, "") }
        }
        #expect(error?.code == .temporary)
        #expect(error?.message.contains(String(first.port)) == true)
    }

    @Test func `refuses a port if its IPv6 side belongs to another process`() throws {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in6(), yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, 4)
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr.__in6_u.__u6_addr8.15 = 1
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, size)
                _ = listen(descriptor, 1)
                _ = getsockname(descriptor, $0, &size)
            }
        }
        let port = UInt16(bigEndian: address.sin6_port)
        #expect(throws: CredentialError.self) { try LoopbackServer(ports: [port]) { _ in .text(200, "") } }
        #expect(throws: Never.self) { try LoopbackServer(ports: [port], at: .ipv4) { _ in .text(200, "") } }
    }

    @Test func `leaves out a header that would start another one`() throws {
        let server = try LoopbackServer { _ in
            ServerResponse(status: 200, headers: [("X-Text", "a\r\nX-Evil: b"), ("X-Good", "c")])
        }
        let reply = try client.send("GET", "http://127.0.0.1:\(server.port)/")
        #expect(reply.value(of: "x-evil") == nil)
        #expect(reply.value(of: "x-good") == "c")
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "GET /\u{0} HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n bad: x\r\n: y\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}",
    ])
    func `survives invalid HTTP`(_ text: String) throws {
        let server = try echo(limits: ServerLimits(idleSeconds: 1))
        _ = try client.exchange(Array(text.utf8), port: server.port)
        #expect(try client.send("GET", "http://127.0.0.1:\(server.port)/").status == 200)
    }

    @Test func `calls back after a reply was sent`() throws {
        let sent = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { _ in ServerResponse(status: 204, afterSent: { sent.signal() }) }
        #expect(try client.send("GET", "http://127.0.0.1:\(server.port)/").status == 204)
        #expect(sent.wait(timeout: .now() + 10) == .success)
    }

    @Test func `may go away right after its last reply`() throws {
        for _ in 0..<200 {
            let server = try LoopbackServer(at: .ipv4) { _ in .text(200, "done") }
            #expect(try client.send("GET", "http://127.0.0.1:\(server.port)/").status == 200)
        }
    }
}
