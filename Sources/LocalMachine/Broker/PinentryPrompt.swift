package import Broker
package import CredentialCore
import Platform

/// Prompts by `pinentry` with its command `CONFIRM` (Assuan protocol): allow once, or refuse.
package struct PinentryPrompt: ConsentPrompt {
    /// The codes of libgpg-error in the low 16 bits of an error: timeout, canceled, not confirmed, fully canceled.
    private static let timeout: UInt32 = 62
    private static let refusals: Set<UInt32> = [99, 114, 198]
    private static let program = "pinentry"

    /// The greatest length of a line in bytes, without its end.
    private static let limit = 1_000

    private let environment: [String: String]
    private let warn: @Sendable (CredentialError) -> Void

    /// Makes a prompt.
    ///
    /// - Parameters:
    ///   - environment: the environment of the server, with `PATH` and the display.
    ///   - warn: receives the reason why a text cannot be shown.
    package init(environment: [String: String], warn: @escaping @Sendable (CredentialError) -> Void = { _ in }) {
        self.environment = environment
        self.warn = warn
    }

    package func ask(_ text: ConsentText, milliseconds: Int32) -> ConsentChoice? {
        guard let path = ExecutablePath.find(Self.program, environment: environment) else { return nil }
        let seconds = Int(max(1, milliseconds / 1_000))
        var commands = ["SETTIMEOUT \(seconds)"]
        if let terminal = environment["GPG_TTY"] { commands.append("OPTION ttyname=\(Self.escaped(terminal))") }
        if let type = environment["TERM"] { commands.append("OPTION ttytype=\(Self.escaped(type))") }
        commands += [
            // The lines name the caller, so the title adds no fact.
            "SETTITLE credmgr", "SETDESC " + Self.escaped(text.lines.joined(separator: "\n")),
            "SETOK " + Self.escaped(label(.once, text)), "SETCANCEL " + Self.escaped(label(.no, text)), "CONFIRM",
        ]
        guard commands.allSatisfy({ $0.utf8.count <= Self.limit }) else {
            // A part of the text would hide what is released.
            warn(
                CredentialError(
                    .unsupported, "pinentry cannot show the request: the text is longer than 1,000 bytes",
                    hint: "add desktop or terminal to ask_by"))
            return nil
        }
        var launch = SpawnConfiguration(
            path, [], environment: environment.filter { !$0.key.hasPrefix("CREDMGR_PASSPHRASE") })
        launch.endsItsGroup = true
        let input = Array(commands.map { $0 + "\n" }.joined().utf8) + Array("BYE\n".utf8)
        do throws(CredentialError) {
            let outcome = try ChildProgram(launch, limit: 1 << 16, seconds: seconds + 5).run(input: input)
            if case .timedOut = outcome.ending { return .timeout }
            return Self.choice(of: outcome.output, command: commands.count)
        } catch {
            // A pinentry that does not start is no prompt here.
            return nil
        }
    }

    private func label(_ choice: ConsentChoice, _ text: ConsentText) -> String {
        text.choices.first { $0.choice == choice }?.label ?? choice.rawValue
    }

    /// Reads the replies: one greeting, then one for each command.
    static func choice(of output: [UInt8], command number: Int) -> ConsentChoice? {
        let replies = output.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
            .filter { $0 == "OK" || $0.hasPrefix("OK ") || $0.hasPrefix("ERR ") }
        guard replies.count > number else { return nil }
        let reply = replies[number]
        guard reply.hasPrefix("ERR ") else { return .once }
        let words = reply.split(separator: " ")
        guard words.count > 1, let code = UInt32(words[1]) else { return nil }
        if code & 0xFFFF == timeout { return .timeout }
        return refusals.contains(code & 0xFFFF) ? .no : nil
    }

    /// Text as Assuan sends it.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "%": result += "%25"
            case "\n": result += "%0A"
            case "\r": result += "%0D"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
