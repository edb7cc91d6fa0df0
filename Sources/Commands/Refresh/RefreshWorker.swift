package import CredentialCore
package import Platform
import Synchronization

/// The worker's side: one job on standard input, one answer on standard output.
package enum RefreshWorker {
    /// Does the job. Whether anybody still listens to the answer does not matter: the tokens are persisted.
    ///
    /// - Parameter life: how long it may take.
    /// - Returns: the exit status.
    package static func run(_ context: CommandContext, lock: any HeldLock, life: WorkerLife) -> Int32 {
        defer { lock.release() }
        var context = context
        let answer: [UInt8]
        let notes = Mutex<[String]>([])
        do throws(CredentialError) {
            let request = try RefreshWorkerProtocol.decodeRequest(try context.console.readInput(limit: 64 << 20))
            context.machine.transport = WorkerTransport(
                base: context.machine.transport, life: life, isPatient: request.account.store != .etcd)
            let session = CommandSession(
                context: context, options: GlobalOptions.ofWorker,
                notices: Notices(
                    console: context.console, environment: context.environment, isQuiet: true, isVerbose: false),
                detail: { line in notes.withLock { $0.append(line) } })
            // A record is read and opened meanwhile. The libraries of a keyring come first: no thread can be
            // started while others are loaded, and the keyring takes longer to answer.
            if request.account.store.isInRecord { context.transport.prepare() }
            let stores = session.stores(mayPrompt: false, whileWaiting: context.transport.prepare)
            let services = session.services(stores)
            services.repository.begin(request.account)
            // A response is saved by now, or cannot be.
            defer { life.answerIsSaved() }
            let given = try services.refresh.refresh(request, holding: lock)
            answer = RefreshWorkerProtocol.encode(given, notes: notes.withLock { $0 })
        } catch {
            answer = RefreshWorkerProtocol.encode(error, notes: notes.withLock { $0 })
        }
        do throws(CredentialError) { try context.console.writeResult(answer) } catch { return 1 }
        return 0
    }
}

extension GlobalOptions {
    /// The options of a worker: it never asks the user.
    fileprivate static let ofWorker = GlobalOptions(noInput: true)

    private init(noInput: Bool) {
        namesStore = false
        self.noInput = noInput
        isVerbose = false
        isQuiet = true
    }
}
