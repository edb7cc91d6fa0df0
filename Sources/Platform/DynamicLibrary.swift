package import CredentialCore
import Glibc

/// A shared library opened at first use, so that a command that does not need it does not pay for it.
@safe package struct DynamicLibrary: @unchecked Sendable {
    // Immutable after `init`, and never closed: code of the library may run at exit.
    private let handle: UnsafeMutableRawPointer
    private let name: String
    private let package: String

    /// Opens the library.
    ///
    /// - Parameters:
    ///   - name: the file's name with its version: `libsecret-1.so.0`.
    ///   - package: the Debian package that brings it, for the hint.
    /// - Throws: ``ErrorCode/internalFault`` when it is not installed.
    package init(_ name: String, package: String) throws(CredentialError) {
        guard let handle = unsafe dlopen(name, RTLD_LAZY | RTLD_LOCAL) else {
            throw CredentialError(
                .internalFault, "the library \(name) is not installed", hint: "apt-get install \(package)")
        }
        unsafe self.handle = handle
        self.name = name
        self.package = package
    }

    /// The address of a function.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when this version of the library lacks it.
    package func symbol(_ symbol: String) throws(CredentialError) -> UnsafeMutableRawPointer {
        guard let address = unsafe dlsym(handle, symbol) else {
            throw CredentialError(
                .internalFault, "the library \(name) has no function \(symbol)",
                hint: "install a newer \(package)")
        }
        return unsafe address
    }
}
