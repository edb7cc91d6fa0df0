import CLinux
import Glibc

/// The environment of this process.
package enum ProcessEnvironment {
    /// One variable, without a look at the others.
    package static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// All variables; of one that is set twice the first counts, as for `getenv`. Text that is not UTF-8 is
    /// repaired.
    package static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        guard var place = unsafe linux_environment() else { return variables }
        while let entry = unsafe place.pointee {
            let text = unsafe String(cString: entry)
            if let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                let name = String(text[..<equals])
                if variables[name] == nil { variables[name] = String(text[text.utf8.index(after: equals)...]) }
            }
            unsafe place += 1
        }
        return variables
    }
}
