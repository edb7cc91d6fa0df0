package import Broker
import CredentialCore
import Platform

/// Prompts by a notification with actions, on a session bus that exists (Desktop Notifications Specification 1.2).
///
/// Only `ActionInvoked` with the identifier of our notification, from the owner of the name, is an answer: the bus
/// names the sender of each signal.
package struct DesktopPrompt: ConsentPrompt {
    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    /// How long the service may take for a reply, in milliseconds.
    private static let patience: Int32 = 5_000

    private let address: String?

    /// Makes a prompt; it does not connect yet.
    ///
    /// - Parameter address: the address of the session bus; `nil` without a session bus.
    package init(address: String?) { self.address = address }

    package func ask(_ text: ConsentText, milliseconds: Int32) -> ConsentChoice? {
        guard let address else { return nil }
        let deadline = Deadline(milliseconds: milliseconds)
        do throws(CredentialError) {
            let setup = Deadline(milliseconds: min(milliseconds, Self.patience))
            let bus = try DBusConnection(address, deadline: setup)
            guard let owner = try bus.owner(of: Self.name, deadline: setup) else { return nil }
            let capabilities = try bus.call(Self.method("GetCapabilities", to: owner), setup).body.first
            guard case .array(_, let words) = capabilities, words.contains(.string("actions")) else { return nil }
            try bus.subscribe(to: owner, interface: Self.name, deadline: setup)
            try bus.subscribeToOwner(of: Self.name, deadline: setup)
            let body = Self.body(text, isMarkup: words.contains(.string("body-markup")))
            let reply = try bus.call(Self.method("Notify", to: owner, Self.arguments(text, body)), setup)
            guard let number = reply.body.first?.uint32, number > 0 else { return nil }
            return wait(bus, owner, number, text, deadline)
        } catch {
            // Without a service that answers there is no prompt here, and the next kind of prompt follows.
            return nil
        }
    }

    private func wait(
        _ bus: DBusConnection, _ owner: String, _ number: UInt32, _ text: ConsentText, _ deadline: Deadline
    ) -> ConsentChoice {
        do throws(CredentialError) {
            while let signal = try bus.nextSignal(deadline) {
                if bus.isLoss(of: Self.name, from: owner, signal) { return .no }
                guard signal.sender == owner, signal.path == Self.path, signal.interface == Self.name,
                    signal.body.count == 2, signal.body[0].uint32 == number
                else { continue }
                if signal.member == "NotificationClosed" { return .no }
                guard signal.member == "ActionInvoked", let action = signal.body[1].string else { continue }
                let choice = text.choices.first { $0.choice.rawValue == action }?.choice
                if let choice {
                    try close(bus, owner, number)
                    return choice
                }
            }
            try close(bus, owner, number)
            return .timeout
        } catch {
            // The user cannot answer a prompt whose bus is gone.
            return .no
        }
    }

    /// A notification that stays would offer choices that have no effect.
    private func close(_ bus: DBusConnection, _ owner: String, _ number: UInt32) throws(CredentialError) {
        try bus.send(Self.method("CloseNotification", to: owner, [.uint32(number)]))
    }

    private static func method(_ member: String, to owner: String, _ body: [DBusValue] = []) -> DBusMessage {
        DBusMessage(.call, path: path, interface: name, member: member, destination: owner, body: body)
    }

    private static func arguments(_ text: ConsentText, _ body: String) -> [DBusValue] {
        let actions = text.choices.flatMap { [DBusValue.string($0.choice.rawValue), .string($0.label)] }
        return [
            .string("credmgr"), .uint32(0), .string("dialog-password"), .string(text.title), .string(body),
            .array("s", actions),
            // Urgency 2 and timeout 0: the notification stays until the user answers.
            .array("{sv}", [.entry(.string("urgency"), .variant(.byte(2)))]), .int32(0),
        ]
    }

    /// The lines as plain text: a service that reads markup gets it escaped.
    private static func body(_ text: ConsentText, isMarkup: Bool) -> String {
        let body = text.lines.joined(separator: "\n")
        return isMarkup ? UntrustedText.markup(body) : body
    }
}
