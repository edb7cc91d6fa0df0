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

/// The folder that the program was called in.
package enum WorkingDirectory {
    /// Its absolute paths: the kernel's, and the shell's (`PWD`), which may lead through symbolic links, if that
    /// still is the same directory. `/` when it has gone.
    package static func paths(_ environment: [String: String]) -> [String] {
        let path = path
        guard let logical = environment["PWD"], logical != path, logical.hasPrefix("/"),
            !logical.split(separator: "/").contains(".."), isHere(logical)
        else { return [path] }
        return [path, logical]
    }

    private static func isHere(_ path: String) -> Bool {
        var here = stat()
        var there = stat()
        guard unsafe stat(".", &here) == 0, unsafe stat(path, &there) == 0 else { return false }
        return here.st_dev == there.st_dev && here.st_ino == there.st_ino
    }

    private static var path: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard unsafe getcwd(&buffer, buffer.count) != nil else { return "/" }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
