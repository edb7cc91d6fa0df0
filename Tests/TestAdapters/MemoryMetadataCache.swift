package import CredentialCore
import Synchronization

/// A cache that outlives the sources that use it, as the disk does.
package final class MemoryMetadataCache: MetadataCache {
    private let documents = Mutex<[String: ProviderDocument]>([:])

    package init() {}

    package var count: Int { documents.withLock { $0.count } }
    package func read(_ address: String) -> ProviderDocument? { documents.withLock { $0[address] } }
    package func write(_ document: ProviderDocument, for address: String) {
        documents.withLock { $0[address] = document }
    }
}
