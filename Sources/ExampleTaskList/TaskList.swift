import CredentialCore
import Credentials
import StrictJSON

/// The to-do list of the seeds' two iOS samples, without their windows: three policies, claims, tasks, a second
/// person.
struct TaskList {
    static let typeName = "TaskList"

    let store: AccountStore
    private let tasks: URI
    /// The account whose tasks are shown.
    private var account: Account?
    private var changes: AsyncStream<AccountEvent>.Iterator

    /// `setupOAuth2AccountStore` of the one sample, `settings.plist` of both.
    init(base: String) throws(CredentialError) {
        store = try AccountStore()
        var type = AccountType(
            name: Self.typeName, adapter: "azure-b2c", clientID: "580e250c-8f26-49d0-bee8-1c078add1609")
        type.authority = "\(base)/exampleb2c.onmicrosoft.com/"
        type.policies = [
            "sign-in": "b2c_1_sign_in", "sign-up": "b2c_1_sign_up", "facebook": "b2c_1_fb_sign_in",
        ]
        type.defaultPolicy = "sign-in"
        type.apiBase = base
        // The command knows it from now on, and every other tool.
        try store.configure(type, persisting: true)
        guard let tasks = URI(base + "/tasks") else {
            throw CredentialError(.usage, "'\(base)' is not a valid address")
        }
        self.tasks = tasks
        changes = try store.changes().makeAsyncIterator()
        account = try store.defaultAccount(ofType: Self.typeName)
    }

    /// The effect of each word: `doPolicy`, `getTaskList`, `addTask`, `deleteTask`, `signOut` of the samples.
    static let words =
        "sign-in, sign-up, facebook, other, claims, list, add TEXT, delete TEXT, accounts, use NAME, sign-out"

    /// Does one line of the user's.
    mutating func perform(_ line: String) async throws(CredentialError) {
        let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
        let rest = parts.count == 2 ? parts[1] : ""
        switch parts.first {
        case nil: break
        case "sign-in"?, "sign-up"?: try await signIn(policy: parts[0], as: nil)
        case "facebook"?: try await signIn(policy: parts[0], as: account)
        case "other"?: try await signIn(policy: "sign-in", as: nil, prompt: .always)
        case "claims"?: print(JSONValue.object(try claims()).text())
        case "list"?: try await list()
        case "add"?: try await send("POST", ["task": .string(rest)])
        case "delete"?: try await send("DELETE", ["task": .string(rest)])
        case "accounts"?:
            for known in try store.accounts(ofType: Self.typeName) {
                print("\(known.id == account?.id ? "*" : " ") \(known.shownName)")
            }
        case "use"?: try await choose(rest)
        case "sign-out"?: try await signOut()
        case let word?: throw CredentialError(.usage, "'\(word)' is none of: \(Self.words)")
        }
    }

    private func current() throws(CredentialError) -> Account {
        // The sample took `accounts[0]` of an empty list here, and crashed.
        guard let account else { throw CredentialError(.noSuchAccount, "nobody is signed in", hint: "sign-in") }
        return account
    }

    private func claims() throws(CredentialError) -> JSONObject {
        let person = try current()
        return try store.claims(of: person, policy: Self.policy(of: person))
    }

    /// The policy whose token is used: a user who has only signed up has no token of the policy that signs in. The
    /// samples sent the one's refresh token to the other.
    private static func policy(of person: Account) -> String? {
        person.policies.contains("b2c_1_sign_in") ? nil : person.policies.first
    }

    // MARK: Signing in and out

    private mutating func signIn(
        policy: String, as person: Account?, prompt: AccountStore.Prompt = .auto
    ) async throws(CredentialError) {
        let signedIn = try await store.signIn(
            toType: Self.typeName, as: person, policy: policy, prompt: prompt)
        account = signedIn
        print("signed in: \(signedIn.shownName)")
        await tellChange()
        let claims = try store.claims(of: signedIn, policy: policy)
        print("  name: \(claims["name"]?.string ?? "?"), identity provider: \(claims["idp"]?.string ?? "this one")")
    }

    private mutating func choose(_ name: String) async throws(CredentialError) {
        guard let found = try store.accounts(ofType: Self.typeName).first(where: { $0.shownName == name }) else {
            throw CredentialError(.noSuchAccount, "nobody here is called '\(name)'")
        }
        try store.setDefault(found)
        account = found
        await tellChange()
    }

    private mutating func signOut() async throws(CredentialError) {
        let person = try current()
        try await store.signOut(person)
        account = try store.defaultAccount(ofType: Self.typeName)
        print("signed out: \(person.shownName)")
        await tellChange()
    }

    /// Prints the change that a notification reported to a view.
    private mutating func tellChange() async {
        if let change = await changes.next() { print("event: \(change.kind.rawValue)") }
    }

    // MARK: Tasks

    private func list() async throws(CredentialError) {
        let reply = try await send(HTTPRequest(address: tasks))
        let items = (try? JSONValue.parse(reply.body))?.array ?? []
        for item in items { print("- \(item.object?["task"]?.string ?? "?")") }
        print("\(items.count) tasks")
    }

    private func send(_ method: String, _ task: JSONValue) async throws(CredentialError) {
        let request = HTTPRequest(
            method: method, address: tasks, headers: [("Content-Type", "application/json")],
            body: .bytes(task.bytes()))
        _ = try await send(request)
    }

    /// The token is found, refreshed and sent by the store; a refusal of the API is a failure here, which the
    /// samples took for success.
    private func send(_ request: HTTPRequest) async throws(CredentialError) -> HTTPResponse {
        let person = try current()
        let reply = try await store.send(request, as: person, policy: Self.policy(of: person))
        guard reply.status < 400 else {
            throw CredentialError(.httpStatus, "the task service answered \(reply.status) to \(request.method)")
        }
        return reply
    }
}
