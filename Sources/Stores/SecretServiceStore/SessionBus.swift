package import CredentialCore
import Glibc

/// The address of this user's session bus.
package enum SessionBus {
    /// The address of a bus that exists already, as D-Bus clients look for it: the environment, then
    /// `$XDG_RUNTIME_DIR/bus`. Without that variable, as in cron jobs, it is `/run/user/UID/bus`, the value that
    /// logind would have set. The sockets count only when they are the user's own.
    ///
    /// - Returns: `nil` when there is no bus. Starting one is never part of the answer: `autolaunch:` is left out.
    package static func address(environment: [String: String]) -> String? {
        if let named = named(environment) { return named }
        // Another directory than logind's means another session: its bus or no bus, as GLib and libdbus have it.
        let given = environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
        let socket = (given ?? "/run/user/\(geteuid())") + "/bus"
        return isOwnSocket(socket) ? "unix:path=" + escaped(socket) : nil
    }

    /// The addresses that the variable gives; `nil` if it gives no address.
    private static func named(_ environment: [String: String]) -> String? {
        let usable = (environment["DBUS_SESSION_BUS_ADDRESS"] ?? "").split(separator: ";")
            .filter { !$0.hasPrefix("autolaunch:") }
        return usable.isEmpty ? nil : usable.joined(separator: ";")
    }

    /// The error for a `DBUS_SESSION_BUS_ADDRESS` whose bus does not answer: in the shells of tmux, screen and ssh
    /// the variable outlives its session. `nil` if the variable is not set.
    package static func staleVariable(environment: [String: String]) -> CredentialError? {
        guard let named = named(environment) else { return nil }
        var rest = environment
        rest["DBUS_SESSION_BUS_ADDRESS"] = nil
        // The same one may have its number behind it.
        let other = address(environment: rest).flatMap { named.hasPrefix($0) ? nil : $0 }
        return CredentialError(
            .storeUnavailable,
            "the Secret Service is unreachable: the session bus in DBUS_SESSION_BUS_ADDRESS does not respond",
            hint: other.map { "your session bus is at \(UntrustedText.shown($0)): unset DBUS_SESSION_BUS_ADDRESS" }
                ?? "if its session has ended, unset DBUS_SESSION_BUS_ADDRESS; or sign in with --duplicate --store file"
        )
    }

    private static func isOwnSocket(_ path: String) -> Bool {
        var status = stat()
        guard path.hasPrefix("/"), unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFSOCK && status.st_uid == geteuid()
    }

    /// The value of an address key: D-Bus specification, "Server Addresses".
    private static func escaped(_ path: String) -> String {
        let digits = Array("0123456789abcdef")
        return path.utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "."), UInt8(ascii: "*"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
