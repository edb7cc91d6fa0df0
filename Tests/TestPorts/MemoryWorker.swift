import CredentialCore

/// The refresh worker in memory: a process of its own, which has the lock and goes on when its caller is ended.
package struct MemoryWorker: ProgramRunner {
    private let machine: MemoryMachine
    private let caller: PortTrace
    private let worker: PortTrace
    private let environment: [String: String]

    /// Makes what starts a worker.
    ///
    /// - Parameters:
    ///   - caller: counts the start as one call.
    ///   - worker: counts the calls of the worker.
    ///   - environment: what the worker inherits.
    package init(
        _ machine: MemoryMachine, caller: PortTrace, worker: PortTrace = PortTrace(),
        environment: [String: String] = [:]
    ) {
        self.machine = machine
        self.environment = environment
        self.caller = caller
        self.worker = worker
    }

    package func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProgramResult {
        throw unexpected("the program \(words)")
    }

    package func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int
    ) throws(CredentialError) -> [UInt8] {
        try caller.call("programs.worker") { () throws(CredentialError) in
            (lock as? MemoryLock)?.pass(to: worker)
            defer { lock.release() }
            let answer: [UInt8]
            do throws(CredentialError) {
                let ports = machine.process(worker, environment: environment)
                let services = AccountServices(ports, AccountPolicy(), try ports.configuration())
                answer = RefreshWire.encode(
                    try services.refresh.refresh(RefreshWire.decodeRequest(input), holding: lock))
            } catch {
                answer = RefreshWire.encode(error)
            }
            // Who was ended has answered nothing.
            return worker.isEnded ? [] : answer
        }
    }
}
