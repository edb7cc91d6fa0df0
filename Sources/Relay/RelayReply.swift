package import CredentialCore
import FastToken
package import StrictJSON

/// A reply line of a broker.
package enum RelayReply {
    /// Returns the members of a reply.
    ///
    /// - Throws: the error that the broker replied with; ``ErrorCode/malformedReply``.
    package static func members(_ line: [UInt8]) throws(CredentialError) -> JSONObject {
        guard let members = (try? JSONValue.parse(line))?.object, let isDone = members["ok"]?.bool else {
            throw CredentialError(.malformedReply, "the broker's reply is not one of its language")
        }
        if isDone { return members }
        throw BrokerClient.error(
            members["error"]?.string ?? "failed", reason: members["reason"]?.string,
            retryAfter: members["retry_after"]?.integer)
    }
}

/// A token file of a relay: the request to the broker for it, and its time.
package struct TokenFileRequest {
    private let file: RelayArguments.TokenFile

    /// After how many milliseconds a request that failed is repeated.
    private static let pause: Int64 = 30_000
    /// The bounds of the time between two requests, in seconds.
    private static let shortest: Int64 = 5
    private static let longest: Int64 = 3_600

    /// Makes the request for a file.
    package init(_ file: RelayArguments.TokenFile) { self.file = file }

    /// The line to send.
    package var line: [UInt8] {
        var members = JSONObject()
        members["op"] = .string("token")
        members["v"] = .integer(1)
        members["entry"] = .string(file.entry)
        members["why"] = .string("relay --file")
        return JSONValue.object(members).bytes() + [0x0A]
    }

    /// A token, and when to ask for the next.
    package struct Answer {
        /// The content of the file.
        package let content: [UInt8]
        /// After how many milliseconds to ask again.
        package let pause: Int64
    }

    /// Reads a reply.
    ///
    /// The broker decides when a token is replaced. The relay asks after three quarters of the rest of its life,
    /// and so more often towards its end.
    ///
    /// - Throws: as ``RelayReply/members(_:)``.
    package func answer(_ line: [UInt8], now: Timestamp) throws(CredentialError) -> Answer {
        let members = try RelayReply.members(line)
        guard let token = members["access_token"]?.string, !token.isEmpty else {
            throw CredentialError(.malformedReply, "the broker's reply is not one of its language")
        }
        var pause = Self.pause
        if let end = members["expires_on"]?.integer {
            let left = max(0, min(end - now.epochSeconds, 4 * Self.longest))
            pause = min(max(left * 3 / 4, Self.shortest), Self.longest) * 1_000
        }
        return Answer(content: Array(token.utf8), pause: pause)
    }

    /// After how many milliseconds to ask again without a token.
    package static func pause(after line: [UInt8]?) -> Int64 {
        let seconds = line.flatMap { (try? JSONValue.parse($0))?.object?["retry_after"]?.integer }
        return max(pause, min(seconds ?? 0, longest) * 1_000)
    }
}
