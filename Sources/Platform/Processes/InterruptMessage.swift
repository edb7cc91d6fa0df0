package import CredentialCore
import Glibc
import Synchronization

/// Writes a message to standard error if SIGINT ends the process. A signal handler may do little: the text is in
/// memory that is not freed while it may be written.
package enum InterruptMessage {
    private nonisolated(unsafe) static var text: UnsafeMutableBufferPointer<UInt8>?

    /// Has `words` written to standard error if SIGINT ends the process while `work` goes on. One call at a time
    /// says something, the others do their work only.
    ///
    /// - Throws: the errors of `work`.
    package static func during<Value>(
        _ words: String, _ work: () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Value {
        guard isUsed.compareExchange(expected: false, desired: true, ordering: .sequentiallyConsistent).exchanged
        else {
            return try work()
        }
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: words.utf8.count)
        _ = unsafe bytes.initialize(from: words.utf8)
        isDropped.store(false, ordering: .sequentiallyConsistent)
        unsafe text = bytes
        let before = signal(SIGINT) { _ in
            if !InterruptMessage.isDropped.load(ordering: .sequentiallyConsistent),
                let text = unsafe InterruptMessage.text
            {
                _ = unsafe write(2, text.baseAddress, text.count)
            }
            // As the signal ends a process that does not handle it.
            signal(SIGINT, SIG_DFL)
            raise(SIGINT)
        }
        // A program that is started in the background by a shell without job control ignores it.
        if unsafe unsafeBitCast(before, to: Int.self) == ignored { signal(SIGINT, before) }
        defer {
            signal(SIGINT, before)
            unsafe text = nil
            unsafe bytes.deallocate()
            isUsed.store(false, ordering: .sequentiallyConsistent)
        }
        return try work()
    }

    /// Takes the words back: they have been said. The buffer that holds the words stays until the work is done.
    package static func drop() { isDropped.store(true, ordering: .sequentiallyConsistent) }

    /// `SIG_IGN` as a number.
    private static let ignored = 1
    private static let isUsed = Atomic(false)
    private static let isDropped = Atomic(false)
}
