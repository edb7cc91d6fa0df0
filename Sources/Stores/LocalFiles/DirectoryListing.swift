import CredentialCore
import Platform

/// The checksum of the names of records, computed on a thread of its own; on the caller's if the system gives no
/// thread.
struct DirectoryListing {
    private let call: ThreadTask<UnorderedChecksum, CredentialError>?
    private let list: @Sendable () throws(CredentialError) -> UnorderedChecksum

    /// Begins the listing.
    init(_ list: @escaping @Sendable () throws(CredentialError) -> UnorderedChecksum) {
        self.list = list
        call = try? ThreadTask(list)
    }

    /// Waits for the checksum.
    ///
    /// - Throws: the error of the listing.
    func sum() throws(CredentialError) -> UnorderedChecksum {
        guard let call else { return try list() }
        while true {
            if let result = call.result(until: Deadline(milliseconds: .max)) { return try result.get() }
        }
    }
}
