import Broker
import CredentialCore
import Platform
import Synchronization

/// The revocation of the tokens that callers have, at the end of a broker (`revoke_at_end`).
enum EndRevocation {
    /// The tokens of one account by one entry.
    typealias Part = (entry: BrokerEntry, account: any EntryAccount, tokens: [AccessToken])

    /// How long all revocations together may take, in milliseconds: `broker stop` waits for 10 s.
    static let limit: Int32 = 8_000

    /// The tokens of a part that were not revoked.
    struct Remainder: Sendable {
        /// The name of the entry.
        let entry: String
        /// The ID of the account.
        let account: String
        /// How many tokens were not revoked; 0 if only the store failed afterwards.
        let count: Int
        /// The cause.
        let cause: CredentialError

        /// The warning for the user of the server.
        var warning: CredentialError {
            if count == 0 { return cause }
            let tokens: LocalizedMessage = "\(count, one: "\(count) access token", other: "\(count) access tokens")"
            return CredentialError(
                cause.code, "the broker has not revoked \(tokens) of account \(account), entry \(entry): \(cause)",
                hint: cause.advice, details: cause.details)
        }

        /// The line of the log.
        var event: AuditEvent? {
            count == 0 ? nil : AuditEvent(.stop, entry: entry, account: account, reason: "not_revoked:\(count)")
        }
    }

    /// Revokes the tokens of each account on a thread of its own: a silent provider delays no other account. The
    /// parts of one account follow each other, since they need the account's lock.
    ///
    /// - Parameter milliseconds: how long to wait for all of them. A thread that takes longer is left to itself.
    /// - Returns: the parts that were not revoked, or not in time.
    static func run(_ parts: [Part], milliseconds: Int32 = limit) -> [Remainder] {
        let deadline = Deadline(milliseconds: milliseconds)
        let calls = parts.map { Call($0) }
        for same in Dictionary(grouping: calls, by: \.account).values {
            do throws(CredentialError) {
                try DeadlineThread.start { for call in same { call.run() } }
            } catch {
                for call in same { call.fail(error) }
            }
        }
        return calls.compactMap { $0.remainder(by: deadline, of: milliseconds) }
    }

    /// The revocation of one part, which its thread and its caller share.
    private final class Call: Sendable {
        private struct State: Sendable {
            var revoked = 0
            var failure: CredentialError?
        }

        private let part: Part
        private let state = Mutex(State())
        private let isDone = OneShot<Void, Never>()

        init(_ part: Part) { self.part = part }

        /// The ID of the account.
        var account: String { part.account.id }

        func run() {
            do throws(CredentialError) {
                try part.account.revoke(part.tokens) { _ in state.withLock { $0.revoked += 1 } }
                isDone.put(.success(()))
            } catch { fail(error) }
        }

        func fail(_ error: CredentialError) {
            state.withLock { $0.failure = error }
            isDone.put(.success(()))
        }

        func remainder(by deadline: Deadline, of milliseconds: Int32) -> Remainder? {
            let isInTime = isDone.take(until: deadline) != nil
            let (revoked, failure) = state.withLock { ($0.revoked, $0.failure) }
            let count = max(0, part.tokens.count - revoked)
            if isInTime, failure == nil { return nil }
            let late = CredentialError(.temporary, "the revocation took longer than \(milliseconds / 1_000) s")
            return Remainder(
                entry: part.entry.name, account: part.account.id, count: count, cause: failure ?? late)
        }
    }
}
