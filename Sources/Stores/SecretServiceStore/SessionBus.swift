import Glibc

/// Where the session bus of this user is.
package enum SessionBus {
    /// The address of a bus that exists already, as D-Bus clients look for it: the environment, then
    /// `$XDG_RUNTIME_DIR/bus`; where there is no such variable, as in cron jobs, `/run/user/UID/bus`, which is what
    /// logind would have set it to. The sockets count only when they are the user's own.
    ///
    /// - Returns: `nil` when there is none. Starting one is never part of the answer: `autolaunch:` is left out.
    package static func address(environment: [String: String]) -> String? {
        if let given = environment["DBUS_SESSION_BUS_ADDRESS"] {
            let usable = given.split(separator: ";").filter { !$0.hasPrefix("autolaunch:") }
            if !usable.isEmpty { return usable.joined(separator: ";") }
        }
        // Another folder than logind's means another session: its bus or none, as GLib and libdbus have it.
        let given = environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
        let socket = (given ?? "/run/user/\(geteuid())") + "/bus"
        return isOwnSocket(socket) ? "unix:path=" + escaped(socket) : nil
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
