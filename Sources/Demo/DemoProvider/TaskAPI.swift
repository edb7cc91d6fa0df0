import CredentialCore
import LoopbackHTTP
import StrictJSON
import Synchronization

/// The to-do API in its two dialects: `/api/tasks` (.NET) and `/tasks` (Node). Both open the same lists.
struct TaskAPI: Sendable {
    /// The context that the endpoints share.
    let context: DemoContext
    /// The names the provider may be called by, with the port.
    let hosts: [String]

    /// Answers, or gives `nil` when the path is not the API's.
    func answer(_ request: ServerRequest) -> ServerResponse? {
        let parts = request.path.split(separator: "/").map {
            FormFields(decoding: "v=".utf8 + Array($0.utf8))["v"] ?? ""
        }
        let isDotNet = parts.starts(with: ["api", "tasks"])
        guard isDotNet || parts.first == "tasks" else { return nil }
        context.count(\.apiRequests)
        context.state.withLock { $0.lastTaskTarget = request.path + (request.query.map { "?" + $0 } ?? "") }
        guard let owner = BearerCheck(context: context, hosts: hosts).owner(request) else {
            context.count(\.apiUnauthorized)
            var response = ServerResponse.text(401, "Unauthorized")
            response.headers.append(("WWW-Authenticate", "Bearer realm=\"Users\""))
            return response
        }
        let switches = context.switches
        if switches.apiStatus != 0 {
            return .json(Int(clamping: switches.apiStatus), ["message": "The service is not itself today."])
        }
        if !switches.apiReply.isEmpty {
            return ServerResponse(
                status: 200, headers: [("Content-Type", "application/json; charset=utf-8")],
                body: Array(switches.apiReply.utf8))
        }
        return isDotNet
            ? dotNet(request, owner: owner, rest: Array(parts.dropFirst(2)))
            : node(request, owner: owner, rest: Array(parts.dropFirst(1)))
    }

    // MARK: - /api/tasks

    private func dotNet(_ request: ServerRequest, owner: String, rest: [String]) -> ServerResponse {
        switch (request.method, rest.count) {
        case ("GET", 0), ("HEAD", 0):
            return .json(200, .array(tasks(of: owner).map { dotNetRecord($0, owner) }))
        case ("POST", 0):
            guard let fields = fields(request) else { return .text(415, "Unsupported Media Type") }
            guard let text = fields("Text") ?? fields("text"), !text.isEmpty else {
                return .json(400, ["Message": "The Text field is required."])
            }
            add(text, to: owner)
            return ServerResponse(status: 204)
        case ("DELETE", 1):
            return remove(from: owner) { String($0.id) == rest[0] }
                ? ServerResponse(status: 204) : .json(404, ["Message": "There is no such task."])
        case ("DELETE", 0):
            guard let text = fields(request)?("Text") else {
                return .json(400, ["Message": "The Text field is required."])
            }
            return remove(from: owner) { $0.text == text }
                ? ServerResponse(status: 204) : .json(404, ["Message": "There is no such task."])
        default: return .text(405, "Method Not Allowed")
        }
    }

    private func dotNetRecord(_ task: DemoTask, _ owner: String) -> JSONValue {
        [
            "Id": .integer(task.id), "Owner": .string(owner), "Text": .string(task.text),
            "Completed": .bool(task.isCompleted), "DateModified": .string(task.changedAt.rfc3339),
        ]
    }

    // MARK: - /tasks[/<owner>[/<task>]]

    private func node(_ request: ServerRequest, owner: String, rest: [String]) -> ServerResponse {
        guard rest.first.map({ $0 == owner }) ?? true, rest.count <= 2 else {
            return .json(403, ["code": "NotAuthorized", "message": "this list is somebody else's"])
        }
        let named = rest.count == 2 ? rest[1] : fields(request)?("task")
        switch request.method {
        case "GET", "HEAD":
            return .json(200, .array(tasks(of: owner).prefix(20).map { nodeRecord($0, owner) }))
        case "POST":
            guard let named, !named.isEmpty else { return Self.missingTask }
            return .json(201, nodeRecord(add(named, to: owner), owner))
        case "DELETE":
            if rest.count == 1 {
                _ = remove(from: owner) { _ in true }
                return ServerResponse(status: 204)
            }
            guard let named, !named.isEmpty else { return Self.missingTask }
            return remove(from: owner) { $0.text == named }
                ? ServerResponse(status: 204)
                : .json(404, ["code": "TaskNotFound", "message": "there is no such task"])
        default: return .text(405, "Method Not Allowed")
        }
    }

    private static let missingTask = ServerResponse.json(
        409, ["code": "MissingTask", "message": "\"task\" is a required parameter"])

    private func nodeRecord(_ task: DemoTask, _ owner: String) -> JSONValue {
        let time = task.changedAt.rfc3339
        return [
            "task": .string(task.text), "owner": .string(owner), "completed": .bool(task.isCompleted),
            "date": .string(time.dropLast() + ".000Z"),
        ]
    }

    // MARK: - The lists

    /// The fields of a form or of a JSON object, by name; `nil` for any other kind of body.
    private func fields(_ request: ServerRequest) -> ((String) -> String?)? {
        switch request.mediaType {
        case "application/x-www-form-urlencoded":
            let form = FormFields(decoding: request.body)
            return { form[$0] }
        case "application/json":
            guard let object = (try? JSONValue.parse(request.body))?.object else { return nil }
            return { object[$0]?.string }
        default: return nil
        }
    }

    private func tasks(of owner: String) -> [DemoTask] { context.state.withLock { $0.tasks[owner] ?? [] } }

    @discardableResult
    private func add(_ text: String, to owner: String) -> DemoTask {
        let now = context.now
        return context.state.withLock { state in
            state.lastTask += 1
            let task = DemoTask(id: state.lastTask, text: text, changedAt: now)
            state.tasks[owner, default: []].append(task)
            return task
        }
    }

    private func remove(from owner: String, where matches: (DemoTask) -> Bool) -> Bool {
        context.state.withLock { state in
            let before = state.tasks[owner]?.count ?? 0
            state.tasks[owner]?.removeAll(where: matches)
            return state.tasks[owner]?.count ?? 0 < before
        }
    }
}
