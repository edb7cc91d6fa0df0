import LoopbackHTTP
import StrictJSON
import Synchronization

/// `/demo/control`: another process reads the counters and changes the switches.
///
/// `GET` gives `{"counters":{…},"switches":{…}}`. `POST` takes a JSON object of switches, and the actions
/// `expire_tokens`, `revoke_refresh_tokens`, `sign_out_browsers` and `reset_counters` (true) and `delete_user` (an
/// email address).
struct ControlEndpoint: Sendable {
    /// The context that the endpoints share.
    let context: DemoContext

    /// Answers a request of the control interface.
    func answer(_ request: ServerRequest) -> ServerResponse {
        switch request.method {
        case "GET": return status()
        case "POST":
            // A form of some web page cannot send this media type without being asked first.
            guard request.mediaType == "application/json",
                let changes = (try? JSONValue.parse(request.body))?.object
            else { return .json(400, ["error": "a JSON object is needed"]) }
            let unknown = context.state.withLock { state -> String? in
                var copy = state
                for change in changes.members where !Self.apply(change.name, change.value, to: &copy) {
                    return change.name
                }
                state = copy
                return nil
            }
            if let unknown {
                return .json(400, ["error": "not a switch, or not its kind of value", "name": .string(unknown)])
            }
            return status()
        default: return .text(405, "Method Not Allowed")
        }
    }

    private func status() -> ServerResponse {
        let (counters, switches) = context.state.withLock { ($0.counters.json, $0.switches.json) }
        return .json(200, ["counters": counters, "switches": switches])
    }

    private static func apply(_ name: String, _ value: JSONValue, to state: inout DemoState) -> Bool {
        switch name {
        case "expire_tokens":
            if value.bool == true { state.expireTokens() }
        case "revoke_refresh_tokens":
            if value.bool == true { state.revokeRefreshTokens() }
        case "sign_out_browsers":
            if value.bool == true { state.sessions = [:] }
        case "reset_counters":
            if value.bool == true { state.counters = DemoCounters() }
        case "delete_user":
            guard let email = value.string else { return false }
            state.users.removeAll { $0.email == email }
            return true
        default: return state.switches.set(name, to: value)
        }
        return value.bool != nil
    }
}
