import Glibc

/// The system's certificate authorities, kept twice: each in a file of a folder, and all in one file.
///
/// Reading the one file costs 14 ms of a request, finding one authority in the folder next to nothing. The folder is
/// therefore asked first. Where it lacks an authority that the file has (a container with only the file put in),
/// the handshake fails before anything was sent, and is repeated with the file.
package struct CertificateStore: Sendable {
    /// The folder, with links by the hash of the subject as `openssl rehash` makes them.
    let folder: String
    /// The file of all, in PEM form.
    let file: String

    /// Names a store.
    package init(folder: String, file: String) {
        self.folder = folder
        self.file = file
    }

    /// Debian's; where it does not exist, libcurl's own choice is kept.
    package static let debian = CertificateStore(
        folder: "/etc/ssl/certs", file: "/etc/ssl/certs/ca-certificates.crt")

    /// Whether both are there.
    var exists: Bool { unsafe access(folder, R_OK | X_OK) == 0 && access(file, R_OK) == 0 }
}
