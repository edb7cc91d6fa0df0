import Broker
import CredentialCore
import StrictJSON
import Testing

/// Heads, first lines and limits of time of an HTTP connection to a broker.
@Suite struct `HTTP of a broker` {
    private let scene = HTTPScene()
    private static let project = "GET /computeMetadata/v1/project/project-id HTTP/1.1\r\n"
    private static let flavor = "Metadata-Flavor: Google\r\n"

    @Test(arguments: [
        "GET / HTTP/1.1\nMetadata-Flavor: Google\r\n\r\n", "GET / HTTP/1.1\r\nMetadata-Flavor: Google\n\n",
        "GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nName : value\r\n\r\n",
        "GET / HTTP/1.1\r\nName: a\r\n folded\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
        "GET /%0a HTTP/1.1\r\n\r\n", "GET /%f HTTP/1.1\r\n\r\n", "GET /?a=%ff HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nName: a\u{0}b\r\n\r\n", "GET / HTTP/1.1\r\nName: a\rb\r\n\r\n", "\r\n\r\n",
    ])
    func `A head of another form is 400 and closes the connection`(head: String) throws {
        let connection = TimedConnection(head + Self.project + Self.flavor + "\r\n")
        scene.serve(connection)
        let responses = HTTPScene.responses(connection.output)
        #expect(responses.count == 1)
        #expect(responses.first?.status == 400 && responses.first?.fields["connection"] == "close")
        #expect(responses.first?.error == ["malformed", nil])
    }

    @Test func `A head of 16 KiB is served and a larger one is 400`() throws {
        func response(size: Int) throws -> HTTPScene.Response {
            let start = Self.project + Self.flavor + "Filler: ", end = "\r\n\r\n"
            let filler = String(repeating: "x", count: size - start.utf8.count - end.utf8.count)
            let connection = TimedConnection(start + filler + end)
            scene.serve(connection)
            return try #require(HTTPScene.responses(connection.output).first)
        }
        #expect(try response(size: 16 << 10).status == 200)
        let larger = try response(size: 16 << 10 + 1)
        #expect(larger.status == 400 && larger.fields["connection"] == "close")
    }

    @Test func `A head is served however its bytes arrive`() throws {
        let head = Array((Self.project + Self.flavor + "\r\n").utf8)
        let connection = TimedConnection(head.map { .bytes([$0]) })
        scene.serve(connection)
        #expect(HTTPScene.responses(connection.output).map(\.body) == ["project-1"])
    }

    @Test func `A connection serves several requests until the client closes it`() throws {
        let request = Self.project + Self.flavor + "\r\n"
        let connection = TimedConnection([.bytes(Array((request + request).utf8)), .bytes(Array(request.utf8))])
        scene.serve(connection)
        let responses = HTTPScene.responses(connection.output)
        #expect(responses.map(\.status) == [200, 200, 200])
        #expect(responses.allSatisfy { $0.fields["connection"] == nil })
        #expect(connection.limits.last == 60_000)
    }

    @Test(arguments: [
        project + flavor + "Connection: close\r\n\r\n",
        project.replacing("HTTP/1.1", with: "HTTP/1.0") + flavor + "\r\n",
    ])
    func `A connection ends after the response when the client wants that`(request: String) throws {
        let connection = TimedConnection(request + request)
        scene.serve(connection)
        let responses = HTTPScene.responses(connection.output)
        #expect(responses.count == 1 && responses.first?.fields["connection"] == "close")
    }

    @Test func `A response to HEAD has no body`() {
        let head = Self.project.replacing("GET", with: "HEAD")
        let connection = TimedConnection(head + Self.flavor + "\r\n" + Self.project + Self.flavor + "\r\n")
        scene.serve(connection)
        #expect(connection.output.hasPrefix("HTTP/1.1 405 "))
        #expect(connection.output.contains("\r\n\r\nHTTP/1.1 200 OK\r\n"))
        #expect(connection.output.hasSuffix("\r\n\r\nproject-1"))
    }

    @Test func `An incomplete head is closed after 10 s without a response`() throws {
        let start = Array("GET / HT".utf8)
        let silent = TimedConnection([.bytes(start), .silence])
        scene.serve(silent)
        #expect(silent.output.isEmpty && silent.limits == [60_000, 10_000])
        let slow = TimedConnection([
            .bytes(start), .late(6, scene.clock, Array("TP/1.1\r\n".utf8)), .late(4, scene.clock, [0x41]),
            .bytes(Array(": b\r\n\r\n".utf8)),
        ])
        scene.serve(slow)
        #expect(slow.output.isEmpty && slow.limits == [60_000, 10_000, 4_000])
    }

    @Test func `The bytes that chose the language are part of the head`() throws {
        let connection = TimedConnection(
            "computeMetadata/v1/project/project-id HTTP/1.1\r\n" + Self.flavor + "\r\n")
        scene.serve(connection, first: "GET /")
        #expect(HTTPScene.responses(connection.output).map(\.body) == ["project-1"])
        #expect(connection.limits.first == 10_000)
    }
}
