import CredentialCore
import CurlTransport
import Foundation
import TestSupport
import Testing

@Suite struct `Requests of the transport` {
    private let transport = CurlTransport(userAgent: "credmgr/test")
    private static let empty = CurlTestServer.Reply.text("HTTP/1.1 200 OK\nContent-Length: 0\n\n")

    private func sent(_ change: (inout HTTPRequest) -> Void) throws -> CurlTestServer.Request {
        let server = try CurlTestServer(Self.empty)
        var request = HTTPRequest(address: try server.address("/a/../b?p=b2c_1_x&q=%20"))
        change(&request)
        _ = try transport.send(request)
        let requests = try server.stop()
        try #require(requests.count == 1)
        return requests[0]
    }

    @Test func `A GET sends path and query as written, the user agent, and nothing of its own beyond`() throws {
        let request = try sent { $0.headers = [("Accept", "application/json")] }
        let lines = request.head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        #expect(lines.first == "GET /a/../b?p=b2c_1_x&q=%20 HTTP/1.1")
        #expect(
            Set(lines.dropFirst().map { $0.prefix { $0 != ":" } }) == ["Host", "User-Agent", "Accept"])
        #expect(request.values(of: "user-agent") == ["credmgr/test"])
        #expect(request.body.isEmpty)
    }

    @Test(arguments: ["GET", "DELETE", "OPTIONS", "POST", "PUT", "PATCH"])
    func `Methods without a body`(method: String) throws {
        let request = try sent { $0.method = method }
        #expect(request.head.hasPrefix(method + " /a/../b"))
        let carriesBody = ["POST", "PUT", "PATCH"].contains(method)
        #expect(request.values(of: "content-length") == (carriesBody ? ["0"] : []))
        #expect(request.values(of: "content-type").isEmpty)
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE"])
    func `Methods with a body send it byte by byte, with the content type given`(method: String) throws {
        let body = (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let request = try sent {
            $0.method = method
            $0.headers = [("Content-Type", "application/x-www-form-urlencoded"), ("X-Empty", "")]
            $0.body = .bytes(body)
        }
        #expect(request.head.hasPrefix(method + " "))
        #expect(request.body == body)
        #expect(request.values(of: "content-type") == ["application/x-www-form-urlencoded"])
        #expect(request.values(of: "x-empty") == [""])
        #expect(request.values(of: "expect").isEmpty)
    }

    @Test func `A large body is sent without waiting for 100 Continue`() throws {
        let body = [UInt8](repeating: 0x61, count: 3 << 20)
        let request = try sent {
            $0.method = "POST"
            $0.body = .bytes(body)
        }
        #expect(request.values(of: "expect").isEmpty)
        #expect(request.values(of: "content-type").isEmpty)
        #expect(request.body == body)
    }

    @Test func `HEAD gets a head with the body's length and no body`() throws {
        let server = try CurlTestServer(.text("HTTP/1.1 200 OK\nContent-Length: 99999999\n\n"))
        let response = try transport.send(HTTPRequest(method: "HEAD", address: try server.address()))
        #expect(response.value(of: "content-length") == "99999999")
        #expect(response.body.isEmpty)
    }

    @Test func `A file is uploaded with its size and its exact bytes`() throws {
        let folder = try TemporaryFolder()
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Data(content).write(to: URL(fileURLWithPath: folder.path + "/photo.jpg"))
        let request = try sent {
            $0.method = "PUT"
            $0.body = .file(path: folder.path + "/photo.jpg")
        }
        #expect(request.head.hasPrefix("PUT "))
        #expect(request.values(of: "content-length") == ["300000"])
        #expect(request.body == content)
    }

    @Test func `A pipe is uploaded in chunks until it ends`() throws {
        let folder = try TemporaryFolder(), path = folder.path + "/pipe"
        try #require(mkfifo(path, 0o600) == 0)
        let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 17) })
        Thread.detachNewThread { try? content.write(to: URL(fileURLWithPath: path)) }
        let request = try sent {
            $0.method = "POST"
            $0.body = .file(path: path)
        }
        #expect(request.head.hasPrefix("POST "))
        #expect(request.values(of: "transfer-encoding") == ["chunked"])
        #expect(request.body == [UInt8](content))
    }

    @Test func `The observer is told how much of an upload was sent`() throws {
        let folder = try TemporaryFolder()
        try Data(count: 2 << 20).write(to: URL(fileURLWithPath: folder.path + "/zeros"))
        let server = try CurlTestServer(Self.empty)
        let request = HTTPRequest(
            method: "PUT", address: try server.address(), body: .file(path: folder.path + "/zeros"), timeout: nil)
        var states: [TransferProgress] = []
        _ = try transport.send(request, observer: TransferObserver(progress: { states.append($0) }))
        #expect(states.last?.sent == 2 << 20)
        #expect(states.last?.toSend == 2 << 20)
        #expect(states.map(\.sent) == states.map(\.sent).sorted())
    }

    @Test func `A multipart body carries fields and a file that reads back exactly`() throws {
        let folder = try TemporaryFolder()
        let content = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        try Data(content).write(to: URL(fileURLWithPath: folder.path + "/track.bin"))
        let request = try sent {
            $0.method = "POST"
            $0.body = .multipart([
                .init(name: "title", content: .text("Blå")),
                .init(name: "asset\"data", content: .file(path: folder.path + "/track.bin")),
            ])
        }
        let type = try #require(request.values(of: "content-type").first)
        try #require(type.hasPrefix("multipart/form-data; boundary="))
        let boundary = Data("--\(type.dropFirst(30))".utf8)
        let body = Data(request.body)
        let marks = try #require(
            Self.ranges(of: boundary, in: body).count == 3 ? Self.ranges(of: boundary, in: body) : nil)
        let parts = try zip(marks, marks.dropFirst()).map { from, to in
            let part = body[from.upperBound + 2..<to.lowerBound - 2]
            let blank = try #require(part.range(of: Data("\r\n\r\n".utf8)))
            return (String(decoding: part[..<blank.lowerBound], as: UTF8.self), Data(part[blank.upperBound...]))
        }
        #expect(parts[0].0 == "Content-Disposition: form-data; name=\"title\"")
        #expect(parts[0].1 == Data("Blå".utf8))
        #expect(parts[1].0.contains("name=\"asset%22data\"; filename=\"track.bin\""))
        #expect(parts[1].1 == Data(content))
    }

    private static func ranges(of mark: Data, in data: Data) -> [Range<Data.Index>] {
        var found: [Range<Data.Index>] = []
        while let next = data.range(of: mark, in: (found.last?.upperBound ?? data.startIndex)..<data.endIndex) {
            found.append(next)
        }
        return found
    }

    @Test(arguments: [
        ("X-A", "1\r\nX-Injected: 1"), ("X-A", "1\n"), ("X-A", "1\r"), ("X-A", "1\0"), ("X A", "1"),
        ("X-A\r\nX-B", "1"), ("X-A:", "1"), ("", "1"), ("Content-Length", "3"), ("transfer-encoding", "chunked"),
        ("Expect", "100-continue"),
    ])
    func `Header fields that break the request are refused before anything is sent`(
        name: String, value: String
    ) throws {
        let server = try CurlTestServer(Self.empty)
        let request = HTTPRequest(address: try server.address(), headers: [(name, value)])
        let error = #expect(throws: CredentialError.self) { _ = try transport.send(request) }
        #expect(error?.code == .usage)
        #expect(try server.stop().isEmpty)
    }

    @Test(arguments: ["GET /x HTTP/1.1\r\nX: y", "get", "", "G T"])
    func `An invalid method is refused`(method: String) throws {
        let server = try CurlTestServer(Self.empty)
        let request = HTTPRequest(method: method, address: try server.address())
        let error = #expect(throws: CredentialError.self) { _ = try transport.send(request) }
        #expect(error?.code == .usage)
        #expect(try server.stop().isEmpty)
    }

    @Test(arguments: ["body", "multipart", "folder"])
    func `A file that cannot be read is named`(kind: String) throws {
        let folder = try TemporaryFolder()
        let path = kind == "folder" ? folder.path : folder.path + "/missing"
        let server = try CurlTestServer(Self.empty)
        let body: HTTPBody =
            kind == "multipart"
            ? .multipart([.init(name: "a", content: .file(path: path))]) : .file(path: path)
        let request = HTTPRequest(method: "POST", address: try server.address(), body: body)
        let error = #expect(throws: CredentialError.self) { _ = try transport.send(request) }
        #expect(error?.code == .inputOutput)
        #expect(error?.message.contains(path) == true)
        #expect(try server.stop().isEmpty)
    }
}
