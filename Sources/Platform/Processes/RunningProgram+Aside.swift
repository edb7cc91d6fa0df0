import CredentialCore

extension RunningProgram {
    /// Has its end waited for on a thread of its own, so that it does not stay in the kernel's table of processes.
    package consuming func waitAside() {
        let process = process
        do throws(CredentialError) {
            try DeadlineThread.start { _ = Self.wait(for: process) }
        } catch {
            _ = Self.wait(for: process)
        }
    }
}
