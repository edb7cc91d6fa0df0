package import CredentialCore
import LoopbackHTTP
import Platform
import StrictJSON
import Synchronization

/// A process that answers at a redirect URI after the program that listened there has ended. Without it a browser
/// that reloads the page, or brings a late response, shows an error.
///
/// The process reads the outcome from its standard input, and listens once that ends because the caller has ended.
/// It gets the outcome as text, and no token.
package final class LateRedirectResponder: Sendable {
    /// The word by which this program is called for it; redirect URI and peers follow.
    package static let command = "__redirect-aftermath"
    /// How long it answers, in seconds.
    package static let seconds = 15
    /// How often, and after how many milliseconds, it tries to listen while its caller's port is not free yet.
    private static let attempts = 40, pause: Int64 = 50
    private static let limit = 1 << 20

    private let input: Mutex<FileDescriptor?>

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - redirectURI: the address at which it will answer.
    ///   - peers: whose programs it answers.
    ///   - program: the path of this program.
    ///   - environment: of which it gets the language.
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    init(
        at redirectURI: URI, for peers: AllowedRedirectPeers, program: String, environment: [String: String]
    ) throws(CredentialError) {
        let language = environment.filter { name, _ in name == "LANG" || name == "LANGUAGE" || name.hasPrefix("LC_")
        }
        var launch = SpawnConfiguration(
            program, [Self.command, redirectURI.description, peers.word], environment: language)
        launch.standardInput = .pipe
        launch.startsSession = true
        launch.directory = "/"
        var running = try launch.start()
        input = Mutex(running.input.take())
        running.waitAside()
    }

    /// Sets the page that it will show; no page for a sign-in that goes on.
    func note(title: LocalizedMessage, text: LocalizedMessage) { send(["title": title.json, "text": text.json]) }

    /// Clears the page that was noted: the sign-in goes on.
    func forget() { send([:]) }

    /// Has it begin to answer.
    func begin() { input.withLock { $0 = nil } }

    /// A responder that has ended has no page to show.
    private func send(_ line: JSONValue) {
        input.withLock { input in
            guard let file = input.take() else { return }
            _ = file.writeAll(Array((line.text() + "\n").utf8))
            input = consume file
        }
    }

    // MARK: The process

    /// Waits for the caller's end, and then answers.
    ///
    /// - Parameter words: those of the call.
    /// - Returns: the exit status: 2 for a call without the address to answer at, 6 if the port was taken
    ///   meanwhile.
    package static func run(
        _ words: [String], random: any RandomSource, translations: any Translations
    ) -> Int32 {
        guard words.count == 3, let address = URI(words[1]), let peers = AllowedRedirectPeers(word: words[2]) else {
            return ErrorCode.usage.exitStatus
        }
        // One line for each time that something was noted; the last one counts.
        let said = (try? StandardInput.readAll(limit: limit)) ?? []
        let line = said.split(separator: UInt8(ascii: "\n")).last.map(Array.init) ?? []
        let last = (try? JSONValue.parse(line))?.object ?? JSONObject()
        let outcome = (
            title: message("title", last) ?? "credmgr: this sign-in was cancelled",
            text: message("text", last) ?? "Nothing was changed. To sign in, run the command again."
        )
        for _ in 0..<attempts {
            let listener = try? RedirectListener(
                path: address.path.isEmpty ? "/" : address.path, ports: [address.port ?? 0],
                host: RedirectListener.Host(address.host) ?? .ipv4, peers: peers, random: random,
                translations: translations, last: outcome)
            guard let listener else {
                // The caller's port is not free yet.
                SystemTime.pause(milliseconds: pause)
                continue
            }
            SystemTime.pause(milliseconds: Int64(seconds) * 1_000)
            listener.stop()
            return 0
        }
        return ErrorCode.temporary.exitStatus
    }

    private static func message(_ name: String, _ line: JSONObject) -> LocalizedMessage? {
        line[name].flatMap(LocalizedMessage.init(json:))
    }
}
