import CredentialCore

/// The refresh worker in memory: a process of its own, which has the lock and goes on when its caller is ended.
package struct MemoryWorker: ProcessRunner {
    /// The process that a worker is.
    package typealias Process = (trace: PortTrace, services: AccountServices)

    private let caller: PortTrace
    private let process: @Sendable (TokenService.Request) throws(CredentialError) -> Process

    /// Makes the starter of a worker.
    ///
    /// - Parameters:
    ///   - caller: counts the start as one call.
    ///   - process: makes the worker, which does its caller's work.
    package init(
        caller: PortTrace, process: @escaping @Sendable (TokenService.Request) throws(CredentialError) -> Process
    ) {
        self.caller = caller
        self.process = process
    }

    /// Makes the starter of a worker on a machine in memory.
    ///
    /// - Parameters:
    ///   - caller: counts the start as one call.
    ///   - worker: counts the calls of the worker.
    ///   - environment: the variables that the worker inherits.
    ///   - transport: the worker's network.
    package init(
        _ machine: MemoryMachine, caller: PortTrace, worker: PortTrace = PortTrace(),
        environment: [String: String] = [:], transport: any HTTPTransport = UnexpectedTransport()
    ) {
        self.init(caller: caller) { (_) throws(CredentialError) in
            let ports = machine.process(worker, environment: environment, transport: transport)
            return (worker, AccountServices(ports, AccountPolicy(), try ports.configuration()))
        }
    }

    package func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult {
        throw unexpected("the program \(words)")
    }

    package func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
    ) throws(CredentialError) -> [UInt8] {
        try caller.call("programs.worker") { () throws(CredentialError) in
            defer { lock.release() }
            var trace: PortTrace?
            let answer: [UInt8]
            do throws(CredentialError) {
                let request = try RefreshWorkerProtocol.decodeRequest(input), worker = try process(request)
                trace = worker.trace
                (lock as? MemoryLock)?.pass(to: worker.trace)
                answer = RefreshWorkerProtocol.encode(try worker.services.refresh.refresh(request, holding: lock))
            } catch {
                answer = RefreshWorkerProtocol.encode(error)
            }
            // A worker that was ended has given no answer.
            return trace?.isEnded == true ? [] : answer
        }
    }
}
