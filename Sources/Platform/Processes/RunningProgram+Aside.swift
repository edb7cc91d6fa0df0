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

    /// Has the end of a process waited for on a thread of its own, which this process does not wait for.
    static func waitAside(for process: Int32) {
        do throws(CredentialError) {
            try DeadlineThread.start { _ = wait(for: process) }
        } catch {
            // Without another thread it stays in the kernel's table until this process ends.
        }
    }
}
