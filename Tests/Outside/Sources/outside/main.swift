// Another developer's program, with the library alone. Two users sign in by a browser; it calls the API, sees every
// change, is cancelled at each wait, and goes on. Each thing that it saw is a line; OutsideProgramTests reads them.
//
//     outside BASE-URL [CREDMGR]     $BROWSER, called with a URL, signs the person of its login_hint in

import CredentialCore
import Credentials
import Foundation

let base = CommandLine.arguments[1]
var options = AccountStore.Options()
options.program = CommandLine.arguments.dropFirst(2).first
options.warn = { FileHandle.standardError.write(Data("outside: \($0)\n".utf8)) }
let store = try AccountStore(options)
let changes = try store.changes()

/// The next change.
func nextChange() async -> AccountEvent? {
    var iterator = changes.makeAsyncIterator()
    return await iterator.next()
}

/// The next change, as a line.
func change() async {
    guard let event = await nextChange() else { return print("the changes have ended") }
    print("change \(event.kind.rawValue)\(event.reason == nil ? "" : ", with a reason")")
}

/// A window of the program's own.
let window: AccountStore.URLOpener = { url in
    let browser = Process()
    browser.executableURL = URL(fileURLWithPath: ProcessInfo.processInfo.environment["BROWSER"] ?? "")
    browser.arguments = [url]
    try browser.run()
}

func request(_ method: String, _ path: String, _ body: String? = nil) throws -> HTTPRequest {
    guard let address = URI(base + path) else { throw CredentialError(.usage, "no address: \(base)") }
    return HTTPRequest(
        method: method, address: address, headers: [("Content-Type", "application/json")],
        body: body.map { .bytes(Array($0.utf8)) } ?? .none)
}

// MARK: Two people

var type = AccountType(name: "Outside", adapter: "azure-b2c", clientID: "580e250c-8f26-49d0-bee8-1c078add1609")
type.authority = base + "/exampleb2c.onmicrosoft.com/"
type.policies = ["sign-in": "b2c_1_sign_in"]
type.apiBase = base
try store.configure(type, persisting: true)

// Bob by the user's browser, Alice by a window of the program's.
let bob = try await store.signIn(toType: "Outside", loginHint: "bob@example.com")
print("in \(bob.shownName)")
await change()

// The provider takes his sign-in away. The same user is asked again, and no different user may come.
print(
    "revoked \(try await store.send(try request("POST", "/demo/control", #"{"revoke_refresh_tokens":true}"#), as: bob).status)"
)
do { _ = try await store.token(of: bob, forceRefresh: true) } catch { print("lost: \(error.code.rawValue)") }
await change()
_ = try await store.token(of: bob, forceRefresh: true, interaction: .ifNeeded)
await change()

let alice = try await store.signIn(
    toType: "Outside", prompt: .always, loginHint: "alice@example.com", interaction: window)
print("in \(alice.shownName)")
await change()
for account in try store.accounts(ofType: "Outside") { print("account \(account.shownName)") }
print("default \(try store.defaultAccount(ofType: "Outside")?.shownName ?? "none")")

// MARK: The API, as each of them

for (account, task) in [(alice, "buy milk"), (bob, "call Alice")] {
    _ = try await store.send(try request("POST", "/tasks", #"{"task":"\#(task)"}"#), as: account)
}
for account in [alice, bob] {
    let reply = try await store.send(try request("GET", "/tasks"), as: account)
    let text = String(decoding: reply.body, as: UTF8.self)
    print("\(account.shownName) has \(reply.status), milk \(text.contains("milk")), call \(text.contains("call"))")
    print("claims \(try store.claims(of: account)["name"]?.string ?? "none")")
}
try store.setLabel("mine", of: alice)
await change()
try store.setUserData(["theme": "dark"], of: alice)
await change()
try store.setDefault(alice)
await change()
_ = try await store.token(of: alice, forceRefresh: true)
await change()
struct Closed: Error {}
do { _ = try await store.signIn(toType: "Outside") { _ in throw Closed() } } catch {
    print("closed: \(error.code.rawValue)")
}
await change()

// MARK: Cancelled wherever it waits

/// Cancels a call before it begins, and then after ever longer times. It must end by the cancellation, or be done.
func cancelled(_ name: String, _ body: @escaping @Sendable () async throws -> Void) async {
    var strange: [String] = []
    for delay in [nil, 0, 1, 3, 10, 30, 100, 300] {
        let task = Task {
            if delay == nil { withUnsafeCurrentTask { $0?.cancel() } }
            try await body()
        }
        if let delay {
            try? await Task.sleep(for: .milliseconds(delay))
            task.cancel()
        }
        switch await task.result {
        case .success: if delay == nil { strange.append("it did not see that it was cancelled") }
        case .failure(let error as CredentialError) where error.code == .cancelled: break
        case .failure(is CancellationError): break
        case .failure(let error): strange.append("\(error)")
        }
    }
    print("cancelled \(name): \(strange.isEmpty ? "fine" : strange.joined(separator: "; "))")
}

let account = alice
await cancelled("token") { _ = try await store.token(of: account, forceRefresh: true) }
await cancelled("send") { _ = try await store.send(try request("GET", "/tasks"), as: account) }
await cancelled("send to a file") {
    let path = NSTemporaryDirectory() + "/outside-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = try await store.send(try request("GET", "/tasks"), as: account, toFile: path)
}
await cancelled("signed") { _ = try await store.signed(try request("GET", "/tasks"), as: account) }
await cancelled("signIn") {
    _ = try await store.signIn(toType: "Outside") { _ in try await Task.sleep(for: .seconds(600)) }
}
await cancelled("prepareAuthorization") {
    try await store.cancel(
        try await store.prepareAuthorization(ofType: "Outside", redirectURI: "http://localhost:1/back"))
}
await cancelled("endSessionURL") { _ = try await store.endSessionURL(of: account) }
let definition = type
await cancelled("conformance") { _ = try await store.conformance(of: definition) }
await cancelled("changes") {
    for await _ in try store.changes() {}
    try Task.checkCancellation()
}

// All operations that were under way have come to their end: no data is lost, and the events in between are
// refreshes.
_ = try await store.token(of: alice, forceRefresh: true)
try store.setLabel("still mine", of: alice)
var others: Set<String> = []
while let event = await nextChange(), event.kind != .accountUpdated { others.insert(event.kind.rawValue) }
print("meanwhile \(others.sorted())")
print("label \(try store.account(withID: alice.id, ofType: "Outside").label ?? "none")")

// A sign-out that is cancelled has happened or has not; the next one finds either, and is reported once.
await cancelled("signOut") {
    do { try await store.signOut(account) } catch let error as CredentialError where error.code == .noSuchAccount {}
}
do { try await store.signOut(alice) } catch { if error.code != .noSuchAccount { throw error } }
await change()
print("left \(try store.accounts(ofType: "Outside").map(\.shownName))")
let again = try await store.signIn(toType: "Outside", loginHint: "alice@example.com", interaction: window)
print("in \(again.shownName), \(again.id == alice.id ? "the same id" : "another id")")
await change()
