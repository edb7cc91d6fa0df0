package import CredentialCore
import StrictJSON

/// The language of credmgr lines: one JSON object for each line, in both directions.
package struct LineConversation: BrokerConversation {
    /// The facts that `hello` gives.
    package struct Facts: Sendable {
        /// The version of credmgr.
        package var version: String
        /// The server's network namespace, as `readlink /proc/self/ns/net` prints it.
        package var netns: String?

        /// Makes facts.
        package init(version: String, netns: String?) {
            self.version = version
            self.netns = netns
        }
    }

    private let service: BrokerService
    private let facts: Facts
    private let clock: any BootClock

    /// Makes the language of a broker.
    package init(_ service: BrokerService, facts: Facts, clock: any BootClock) {
        self.service = service
        self.facts = facts
        self.clock = clock
    }

    package func serve(_ connection: any BrokerConnection, first: [UInt8], caller: Caller) {
        var reader = ConnectionReader(connection, first: first, clock: clock)
        var time = ConnectionTimes.head
        while true {
            let line: [UInt8]
            switch reader.line(limit: BrokerLine.limit, until: clock.milliseconds + time) {
            case .line(let bytes): line = bytes
            case .end(let rest) where rest.isEmpty: return
            case .end, .tooLong: return write(malformed(caller).json, to: connection)
            case .late: return
            }
            time = ConnectionTimes.idle
            let request: BrokerLine
            do throws(BrokerFailure) { request = try BrokerLine.read(line) } catch {
                if error.error == .malformed { return write(malformed(caller).json, to: connection) }
                let failure = service.refused(error, nil, nil, nil, caller)
                guard send(failure.json, to: connection) else { return }
                continue
            }
            let reply: JSONObject
            do throws(BrokerFailure) { reply = try answer(request, caller) } catch {
                if error.error == .malformed { return write(malformed(caller).json, to: connection) }
                reply = error.json
            }
            guard send(reply, to: connection) else { return }
        }
    }

    private func malformed(_ caller: Caller) -> BrokerFailure {
        service.refused(BrokerFailure(.malformed), nil, nil, nil, caller)
    }

    private func write(_ reply: JSONObject, to connection: any BrokerConnection) { _ = send(reply, to: connection) }

    /// - Returns: whether the peer got it.
    private func send(_ reply: JSONObject, to connection: any BrokerConnection) -> Bool {
        do throws(CredentialError) {
            try connection.write(JSONValue.object(reply).bytes() + [UInt8(ascii: "\n")])
            return true
        } catch { return false }
    }

    private func answer(_ line: BrokerLine, _ caller: Caller) throws(BrokerFailure) -> JSONObject {
        switch line {
        case .hello: hello
        case .list: list
        case .token(let ask): try service.release(ask, to: caller).json
        case .refused(let entry, let token): try service.replacement(of: token, entry: entry, to: caller).json
        case .sign(let entry, let method, let url, let nonce):
            JSONObject([
                "ok": true,
                "dpop": .string(
                    try service.proof(entry: entry, method: method, url: url, nonce: nonce, to: caller)),
            ])
        case .helper(let helper, let entry, let input):
            JSONObject([
                "ok": true,
                "output": .object(try service.helper(helper, input: input, entry: entry, to: caller)),
            ])
        // Only a connection's first line can be the relay's.
        case .via: throw BrokerFailure(.malformed)
        }
    }

    private var hello: JSONObject {
        let configuration = service.configuration
        return JSONObject([
            "ok": true, "v": 1, "version": .string(facts.version), "broker": .string(service.name),
            "speak": JSONValue(configuration.speak.map(\.rawValue)),
            "clouds": JSONValue(configuration.clouds.names),
            "netns": JSONValue(facts.netns),
        ])
    }

    private var list: JSONObject {
        let entries = service.entries().map { entry -> JSONValue in
            let account = service.account(of: entry)
            var object = JSONObject(["name": .string(entry.name), "type": .string(entry.type)])
            object["account"] =
                account.map {
                    ["id": .string($0.id), "type": .string(entry.type), "username": JSONValue($0.username)]
                } ?? .null
            object["issuer"] = JSONValue(account?.issuer)
            object["policy"] = JSONValue(entry.policy)
            object["scope"] = JSONValue(entry.scope ?? account?.ownScope ?? [])
            object["resource"] = JSONValue(entry.resource)
            object["audience"] = JSONValue(entry.audience)
            object["origins"] = JSONValue(entry.origins)
            object["release"] = .string(entry.release.rawValue)
            return .object(object)
        }
        return JSONObject(["ok": true, "entries": .array(entries)])
    }
}
