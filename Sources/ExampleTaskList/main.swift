// A to-do list in the terminal, after the seeds' iOS samples: configure a type, sign in, list the accounts, make
// authenticated requests, observe changes. Run it against `credmgr demo --serve`:
//
//     swift run example-task-list BASE_URL        (the address that the demo prints)

import CredentialCore
import Credentials
import Glibc

guard let base = CommandLine.arguments.dropFirst().first else {
    print("usage: example-task-list BASE_URL")
    exit(2)
}

do {
    let store = try AccountStore()

    // NXOAuth2: setClientID:secret:authorizationURL:tokenURL:redirectURL:forAccountType:
    var type = AccountType(
        name: "TaskList", adapter: "azure-b2c", clientID: "580e250c-8f26-49d0-bee8-1c078add1609")
    type.authority = "\(base)/exampleb2c.onmicrosoft.com/"
    type.policies = ["sign-in": "b2c_1_sign_in"]
    type.redirectURI = "urn:ietf:wg:oauth:2.0:oob"
    type.apiBase = base
    try store.configure(type)

    // Account store notifications: here as an AsyncSequence.
    var changes = try store.changes().makeAsyncIterator()

    // accountsWithAccountType: — or, the first time, requestAccessToAccountWithType: with a prepared URL.
    var account = try store.accounts(ofType: "TaskList").first
    if account == nil {
        let authorization = try store.prepareAuthorization(ofType: "TaskList")
        print("Open \(authorization.url)")
        print("and paste the address that the browser ends at:")
        account = try store.handleRedirect(readLine() ?? "")
        if let change = await changes.next() { print("event: \(change.kind.rawValue) \(change.account ?? "")") }
    }

    // NXOAuth2Request performMethod:onResource:usingParameters:withAccount:
    if let account, let tasks = WebAddress(base + "/api/tasks") {
        let added = try store.send(
            HTTPRequest(
                method: "POST", address: tasks, headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: .bytes(Array("Text=buy+milk".utf8))), as: account, ofType: "TaskList")
        print("added: \(added.status)")
        let list = try store.send(HTTPRequest(address: tasks), as: account, ofType: "TaskList")
        print(String(decoding: list.body, as: UTF8.self))
    }
} catch {
    print("failed: \(error.message)")
    if let hint = error.hint { print("hint: \(hint)") }
    exit(error.code.exitStatus)
}
