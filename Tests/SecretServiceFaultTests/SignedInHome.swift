import CredentialCore
import CryptoSupport
import DemoProvider
import Foundation
import Platform
import StrictJSON
import TestSupport

/// A home in which alice is signed in, with one pending sign-in per fault, and the keyring's state that belongs to
/// it. It is made once; every fault gets a copy.
final class SignedInHome: Sendable {
    /// The result of the preparation.
    static let shared = Result { try SignedInHome() }

    /// The account type and its group.
    static let type = "Tasks", group = "default"
    /// The URLs at which the browser ended, by the name of the fault that each is for.
    let redirects: [String: String]
    /// Alice's account.
    let account: String
    /// Alice's access token.
    let token: String
    private let folder: TemporaryFolder
    private let provider: DemoProvider

    private init() throws {
        let key = try LibCryptography().generateKey(.rs256)
        provider = try DemoProvider(
            keys: [DemoSigningKey(kid: "k", privateKey: key.privateKey, publicJWK: key.publicJWK)],
            cryptography: LibCryptography(), clock: SystemClock(), random: SystemRandom())
        let base = try provider.start()
        Canary.watch { [weak provider] in provider?.secrets ?? [] }
        folder = try TemporaryFolder()
        let service = try FaultyService(state: folder.path + "/state.json", fault: "healthy")
        defer { service.stop() }
        let home = try ProgramHome(folder.path + "/home", busAddress: service.busAddress)
        try home.expect(
            0,
            [
                "types", "add", Self.type, "--adapter", "azure-b2c", "--authority",
                base + "/exampleb2c.onmicrosoft.com/", "--policy", "sign-in=b2c_1_sign_in", "--default-policy",
                "sign-in", "--client-id", "580e250c-8f26-49d0-bee8-1c078add1609", "--redirect-uri",
                "urn:ietf:wg:oauth:2.0:oob",
            ])
        let output = try home.expect(0, ["login", "--complete", try Self.redirect(of: .alice, at: home)])
            .standardOutput
        account = String(output.prefix { $0 != "\t" })
        token = try home.expect(0, ["token", "--type", Self.type]).standardOutput
        var redirects: [String: String] = [:]
        for fault in Fault.all { redirects[fault.name] = try Self.redirect(of: fault.person, at: home) }
        redirects["damaged"] = try Self.redirect(of: .alice, at: home)
        self.redirects = redirects
    }

    /// Begins a sign-in in a home and signs the user in on the provider's pages: gives the redirect.
    static func redirect(of person: Fault.Person, at home: ProgramHome) throws -> String {
        let url = try home.expect(0, ["login", "--type", Self.type, "--print-url"]).standardOutput
        let user = DemoUser.standard[person == .alice ? 0 : 1]
        var robot = DemoSignIn(username: user.email, password: user.password)
        return try robot.run(url.trimmingCharacters(in: .newlines), delivers: false)
    }

    deinit { provider.stop() }

    /// Copies home and state into `folder`.
    func copy(to folder: TemporaryFolder) throws {
        for name in ["home", "state.json"] {
            try FileManager.default.copyItem(
                atPath: self.folder.path + "/" + name, toPath: folder.path + "/" + name)
        }
    }
}

extension ProgramHome {
    func run(_ words: [String], seconds: Double = 60, display: Bool = false) throws -> ChildProcess.Outcome {
        // No window opens there: the variable only means that a user could see one.
        try command(words, display ? ["DISPLAY": ":99"] : [:]).run(seconds: seconds)
    }

    @discardableResult func expect(_ status: Int32, _ words: [String]) throws -> ChildProcess.Outcome {
        let outcome = try run(words)
        if outcome.exitStatus != status {
            throw Failure("credmgr \(words) ended with \(outcome.exitStatus): \(outcome.standardError)")
        }
        return outcome
    }

    /// The ids of the accounts, as the registry tells them.
    func accounts() throws -> [String] {
        let text = try expect(0, ["accounts", "--json"]).standardOutput
        return try JSONValue.parse(Array(text.utf8)).array?.compactMap { $0.object?["id"]?.string } ?? []
    }

    /// Whether tokens wait in the journal for a keyring that takes them.
    func hasJournal(of account: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(groupFolder(SignedInHome.group))/journal/\(account)")
    }
}

/// `Tests/Fixtures/faulty-secret-service.py` on a bus of its own, or a bus with a fault.
struct FaultyService: Sendable {
    /// The variables that lead to the bus.
    let environment: [String: String]
    private let keyring: PrivateKeyring?
    private let state: String

    /// The bus's address.
    var busAddress: String? { environment["DBUS_SESSION_BUS_ADDRESS"] }

    init(state: String, fault: String) throws {
        self.state = state
        switch Fault.Bus(rawValue: fault) {
        case .some(.none):
            keyring = nil
            environment = [:]
        case .dead:
            keyring = nil
            environment = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"]
        case .nobody:
            keyring = try PrivateKeyring(.nobody)
            environment = keyring?.environment ?? [:]
        case nil:
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../Fixtures/faulty-secret-service.py").path
            keyring = try PrivateKeyring(
                .program("/usr/bin/python3", [script, "--state", state, "--fault", fault]))
            environment = keyring?.environment ?? [:]
        }
    }

    /// The ids of the accounts whose token sets are really stored, with the bytes.
    func tokenSets() throws -> [String: String] {
        let items =
            try JSONValue.parse(Array(try Data(contentsOf: URL(fileURLWithPath: state))))
            .object?["items"]?.object?.members ?? []
        var sets: [String: String] = [:]
        for item in items {
            let attributes = item.value.object?["attributes"]?.object
            guard attributes?["kind"]?.string == "token-set", let account = attributes?["account"]?.string else {
                continue
            }
            sets[account] = item.value.object?["secret"]?.string ?? ""
        }
        return sets
    }

    /// Puts bytes that are no token set into the items of a state.
    static func damageTokenSets(in state: String) throws {
        let url = URL(fileURLWithPath: state)
        var document = try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] ?? [:]
        var items = document["items"] as? [String: [String: Any]] ?? [:]
        for (path, item) in items where (item["attributes"] as? [String: String])?["kind"] == "token-set" {
            items[path]?["secret"] = Data("nonsense".utf8).base64EncodedString()
        }
        document["items"] = items
        try JSONSerialization.data(withJSONObject: document).write(to: url)
    }

    func stop() { keyring?.stop() }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
