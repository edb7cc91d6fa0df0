import CredentialCore
import CurlTransport
import Foundation
import TestSupport
import Testing

@Suite struct `Replies to the transport` {
    private let transport = CurlTransport(userAgent: "credmgr/test")

    private func reply(
        _ reply: CurlTestServer.Reply, observer: TransferObserver = TransferObserver(),
        _ change: (inout HTTPRequest) -> Void = { _ in }
    ) throws -> HTTPResponse {
        let server = try CurlTestServer(reply)
        var request = HTTPRequest(address: try server.address("/secret-path?code=secret-code"))
        change(&request)
        return try transport.send(request, observer: observer)
    }

    private func failure(
        _ script: CurlTestServer.Reply, _ change: (inout HTTPRequest) -> Void = { _ in }
    ) throws -> CredentialError {
        let error = try #require(
            #expect(throws: CredentialError.self) { _ = try reply(script, change) })
        #expect(!String(reflecting: error).contains("secret"))
        return error
    }

    @Test func `Fields keep their order and their duplicates, names in lower case`() throws {
        let response = try reply(
            .text("HTTP/1.1 418 Teapot\nSet-Cookie: a=1\nX-B:2  \nset-cookie: b=2\nContent-Length: 2\n\nhi"))
        #expect(response.status == 418)
        #expect(
            response.headers.map { "\($0.name)=\($0.value)" } == [
                "set-cookie=a=1", "x-b=2", "set-cookie=b=2", "content-length=2",
            ])
        #expect(response.values(of: "set-cookie") == ["a=1", "b=2"])
        #expect(response.body == Array("hi".utf8))
    }

    @Test func `Interim replies are passed over`() throws {
        let response = try reply(
            .text(
                "HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: </a>\n\n"
                    + "HTTP/1.1 201 Created\nLocation: /x\nContent-Length: 0\n\n"))
        #expect(response.status == 201)
        #expect(response.headers.map(\.name) == ["location", "content-length"])
    }

    @Test func `Chunks are joined and trailer fields are no part of the head`() throws {
        var heads: [HTTPResponse] = []
        let response = try reply(
            .text("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n2\nde\n0\nX-Trailer: 1\n\n"),
            observer: TransferObserver(head: { heads.append($0) }))
        #expect(response.body == Array("abcde".utf8))
        #expect(response.headers.map(\.name) == ["transfer-encoding"])
        #expect(heads.count == 1)
    }

    @Test func `A compressed body is given as it came`() throws {
        let response = try reply(.text("HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Length: 4\n\nzzzz"))
        #expect(response.body == Array("zzzz".utf8))
    }

    @Test(
        arguments: [
            [0x78, 0x01, 0x01, 0x02, 0x00, 0xFD, 0xFF, 0x68, 0x69, 0x01, 0x3B, 0x00, 0xD2],
            [0x01, 0x02, 0x00, 0xFD, 0xFF, 0x68, 0x69],
        ] as [[UInt8]])
    func `A body in deflate is decompressed, with the head of zlib or without`(body: [UInt8]) throws {
        #expect(try reply(Self.deflated(body)).body == Array("hi".utf8))
    }

    @Test(arguments: ["", "hi", #"{"access_token":"t"}"#]) func `A plain body is none in deflate`(body: String)
        throws
    {
        #expect(try reply(Self.deflated(Array(body.utf8))).body == Array(body.utf8))
    }

    @Test func `The limit holds for the body that was compressed`() throws {
        // 2,000 times the same letter.
        let body: [UInt8] = [
            0x78, 0xDA, 0xAB, 0xA8, 0x18, 0x05, 0xA3, 0x60, 0x14, 0x8C, 0x82, 0x51, 0x30, 0x0A,
            0x46, 0xC1, 0x50, 0x07, 0x00, 0xCF, 0x40, 0xA9, 0xAE,
        ]
        #expect(try reply(Self.deflated(body)) { $0.maximumReplySize = 2_001 }.body.count == 2_000)
        let error = try failure(Self.deflated(body)) { $0.maximumReplySize = 1_999 }
        #expect(error.code == .malformedReply)
        #expect(error.message.hasSuffix("is larger than 1999 bytes"))
    }

    private static func deflated(_ body: [UInt8]) -> CurlTestServer.Reply {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: \(body.count)\r\n\r\n"
        return .bytes(Array(head.utf8) + body)
    }

    @Test(arguments: ["Content-Length: 2000\n\n", "\n", "Transfer-Encoding: chunked\n\n7d0\n"])
    func `A reply over the limit is refused, announced or not`(fields: String) throws {
        let script = CurlTestServer.Reply.text(
            "HTTP/1.1 200 OK\n" + fields + String(repeating: "x", count: 2_000)
                + (fields.contains("chunked") ? "\n0\n\n" : ""))
        let error = try failure(script) { $0.maximumReplySize = 1_999 }
        #expect(error.code == .malformedReply)
        #expect(error.message.hasSuffix("is larger than 1999 bytes"))
        #expect(try reply(script) { $0.maximumReplySize = 2_000 }.body.count == 2_000)
        #expect(try reply(script) { $0.maximumReplySize = nil }.body.count == 2_000)
    }

    @Test func `A redirect is given as it is, and its target sees nothing`() throws {
        let target = try CurlTestServer(.text("HTTP/1.1 200 OK\nContent-Length: 0\n\n"))
        let location = try target.address("/stolen").description
        let response = try reply(.text("HTTP/1.1 307 Over There\nLocation: \(location)\nContent-Length: 0\n\n")) {
            $0.method = "POST"
            $0.headers = [("Authorization", "Bearer secret-token")]
            $0.body = .bytes(Array("refresh_token=secret".utf8))
        }
        #expect(response.status == 307)
        #expect(response.value(of: "location") == location)
        #expect(try target.stop().isEmpty)
    }

    @Test func `Cookies do not come back with the next request`() throws {
        let server = try CurlTestServer(
            .text("HTTP/1.1 200 OK\nSet-Cookie: session=1; Path=/\nContent-Length: 0\n\n"))
        for _ in 0..<2 { _ = try transport.send(HTTPRequest(address: try server.address())) }
        let requests = try server.stop()
        #expect(requests.count == 2)
        #expect(requests.allSatisfy { $0.values(of: "cookie").isEmpty })
    }

    @Test func `A server that does not answer ends in a temporary error that names it`() throws {
        let error = try failure(.stall) { $0.timeout = 1 }
        #expect(error.code == .temporary)
        #expect(error.message.hasPrefix("cannot reach 127.0.0.1:"))
        #expect(error.message.hasSuffix("timed out before the response was complete"))
    }

    @Test func `A transfer that its observer gives up ends as by its time limit`() throws {
        let server = try CurlTestServer(.stall)
        var observer = TransferObserver(), asked = 0
        observer.isGivenUp = {
            asked += 1
            return asked > 1
        }
        let error = #expect(throws: CredentialError.self) {
            _ = try transport.send(HTTPRequest(address: try server.address(), timeout: nil), observer: observer)
        }
        #expect(error?.code == .temporary && error?.isBeforeRequest == false)
        #expect(error?.message.hasSuffix("timed out before the response was complete") == true)
        #expect(asked == 2)
    }

    @Test func `A refused connection is temporary and says so`() throws {
        // The port is free again once its server has ended.
        let server = try CurlTestServer(.stall)
        let address = try server.address("/?code=secret")
        _ = try server.stop()
        let error = #expect(throws: CredentialError.self) { _ = try transport.send(HTTPRequest(address: address)) }
        #expect(error?.code == .temporary)
        #expect(error?.message == "cannot reach 127.0.0.1:\(server.port): connection refused")
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\nContent-Length: 10\n\nshort", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n9\nab",
        "HTTP/1.1 200 OK\nContent-", "",
    ])
    func `A connection that ends too early is temporary`(text: String) throws {
        #expect(try failure(.text(text)).code == .temporary)
    }

    @Test(arguments: [
        "hello\n\n", "HTTP/1.1 2x0 OK\n\n", "HTTP/1.1 200 OK\nno colon\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\nX-A : 1\nContent-Length: 0\n\n", "HTTP/1.1 200 OK\nX-A: a\u{1}b\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\nX-A: a\0b\nContent-Length: 0\n\n", "HTTP/1.1 200 OK\nContent-Length: nine\n\n",
    ])
    func `Invalid HTTP is refused`(text: String) throws {
        #expect(try failure(.text(text)).code == .malformedReply)
    }

    @Test(arguments: [(lines: 1, size: 150_000), (lines: 400, size: 900)])
    func `A head that is too large is refused`(lines: Int, size: Int) throws {
        let line = "X-A: \(String(repeating: "a", count: size))\n"
        let text = "HTTP/1.1 200 OK\n\(String(repeating: line, count: lines))Content-Length: 0\n\n"
        #expect(try failure(.text(text)).code == .malformedReply)
    }

    @Test func `A continued field is joined by one space`() throws {
        let response = try reply(.text("HTTP/1.1 200 OK\nX-A: one\n   two\nContent-Length: 0\n\n"))
        #expect(response.value(of: "x-a") == "one two")
    }

    @Test func `The observer gets the head first, then the body in pieces, and progress to the end`() throws {
        let body = (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 11) }
        let head = Array("HTTP/1.1 206 Partial Content\r\nContent-Length: 500000\r\n\r\n".utf8)
        var events: [String] = [], received: [UInt8] = [], last: TransferProgress?
        let observer = TransferObserver(
            head: { events.append("head \($0.status) \($0.value(of: "content-length") ?? "")") },
            sink: { (piece) throws(CredentialError) in
                if received.isEmpty { events.append("body") }
                received += piece
            },
            progress: { last = $0 })
        let response = try reply(.bytes(head + body), observer: observer) { $0.maximumReplySize = nil }
        #expect(events == ["head 206 500000", "body"])
        #expect(received == body)
        #expect(response.body.isEmpty)
        #expect(last?.received == 500_000)
        #expect(last?.toReceive == 500_000)
    }

    @Test func `A sink that throws ends the transfer with its error`() throws {
        let observer = TransferObserver(sink: { (_) throws(CredentialError) in
            throw CredentialError(.inputOutput, "disk full")
        })
        let error = #expect(throws: CredentialError.self) {
            _ = try reply(.text("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"), observer: observer)
        }
        #expect(error == CredentialError(.inputOutput, "disk full"))
    }

    @Test func `Many threads send at once, each getting its own reply`() throws {
        let servers = try (0..<6).map {
            try CurlTestServer(.text("HTTP/1.1 200 OK\nContent-Length: 6\n\nreply\($0)"))
        }
        let addresses = try servers.map { try $0.address() }
        let transport = transport
        DispatchQueue.concurrentPerform(iterations: addresses.count) { index in
            #expect(throws: Never.self) {
                let response = try transport.send(HTTPRequest(address: addresses[index]))
                #expect(response.body == Array("reply\(index)".utf8))
            }
        }
    }
}
