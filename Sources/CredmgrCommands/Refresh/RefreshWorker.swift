package import CredentialCore

/// The worker's side: one job on standard input, one answer on standard output.
package enum RefreshWorker {
    /// The hidden command that starts it.
    package static let command = "__refresh-worker"

    /// Does the job. Whether anybody still listens to the answer does not matter: the tokens are persisted.
    ///
    /// - Returns: the exit status.
    package static func run(_ context: CommandContext, lock: any HeldLock) -> Int32 {
        defer { lock.release() }
        let answer: [UInt8]
        do throws(CredentialError) {
            let request = try RefreshWire.decodeRequest(try context.console.readInput(limit: 64 << 20))
            let session = try Session(
                context: context, options: GlobalOptions.ofWorker,
                notices: Notices(
                    console: context.console, environment: context.environment, isQuiet: true, isVerbose: false))
            // While a keyring answers, and not before: no thread can be started while libraries are loaded.
            let stores = session.stores(mayPrompt: false, whileWaiting: context.transport.prepare)
            answer = RefreshWire.encode(try session.tokenRenewal(stores).renew(request, holding: lock))
        } catch {
            answer = RefreshWire.encode(error)
        }
        do throws(CredentialError) { try context.console.writeResult(answer) } catch { return 1 }
        return 0
    }
}

extension GlobalOptions {
    /// The options of a worker: it asks nobody anything.
    fileprivate static let ofWorker = GlobalOptions(noInput: true)

    private init(noInput: Bool) {
        namesStore = false
        self.noInput = noInput
        isVerbose = false
        isQuiet = true
    }
}
