import CLinux
import CredentialCore
import Foundation
import Platform
import Testing

@Suite struct ProcessHardeningTests {
    @Test func `a hardened process leaves no core, shows no memory and creates private files`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            _ = linux_set_dumpable(1)
            _ = ProcessHardening.harden()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            let isClosed = linux_get_dumpable() == 0 && umask(0) == 0o077
            exit(limit.rlim_cur == 0 && isClosed ? 3 : 1)
        }
    }

    @Test func `a crash of a hardened process is left to the kernel, which prints nothing`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            let numbers = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGQUIT]
            for number in numbers { signal(number) { _ in } }
            _ = ProcessHardening.harden()
            let isDefault = numbers.allSatisfy { number in
                var action = sigaction()
                sigaction(number, nil, &action)
                return action.__sigaction_handler.sa_handler == nil
            }
            exit(isDefault ? 3 : 1)
        }
    }

    @Test(arguments: [SIGABRT, SIGTRAP])
    func `a library that ends the process leaves a message and a documented exit status`(number: Int32) async throws
    {
        let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
            [number] in
            _ = ProcessHardening.harden()
            AbortHandler.install()
            // The test's thread may hold signals back; abort() does not mind.
            if number == SIGABRT { abort() } else { raise(number) }
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(errors.hasPrefix("credmgr: error: a library gave up"))
        #expect(errors.split(separator: "\n").allSatisfy { $0.hasPrefix("credmgr: ") })
    }

    @Test func `a write to a closed pipe does not end a hardened process`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            _ = ProcessHardening.harden()
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            close(ends[0])
            exit(write(ends[1], "x", 1) == -1 && errno == EPIPE ? 3 : 1)
        }
    }

    @Test func `a closed standard output stays unusable and no file takes its place`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            close(1)
            _ = ProcessHardening.harden()
            do {
                try StandardStream.output.write("token")
            } catch let error as CredentialError {
                exit(error.code == .inputOutput && fcntl(1, F_GETFD) != -1 ? 3 : 1)
            }
        }
    }
}
