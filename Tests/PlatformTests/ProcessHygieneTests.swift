import CredentialCore
import Foundation
import LinuxPlatform
import Testing

@Suite struct ProcessHygieneTests {
    @Test func `a hardened process leaves no core, shows no memory and creates private files`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            ProcessHygiene.harden()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            let environment = try FileManager.default.attributesOfItem(atPath: "/proc/self/environ")
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let mask = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
            #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
            #expect(environment[.ownerAccountID] as? Int == 0)
            #expect(mask?.hasSuffix("0077") == true)
            exit(limit.rlim_max == 0 && mask?.hasSuffix("0077") == true ? 0 : 1)
        }
    }

    @Test func `a crash of a hardened process prints no registers`() async throws {
        let result = try await #require(
            processExitsWith: .signal(SIGILL), observing: [\.standardErrorContent]
        ) {
            ProcessHygiene.harden()
            raise(SIGILL)
        }
        let printed = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(!printed.contains("Registers") && !printed.contains("rax"))
    }

    @Test func `a write to a closed pipe does not end a hardened process`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            ProcessHygiene.harden()
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            close(ends[0])
            exit(write(ends[1], "x", 1) == -1 && errno == EPIPE ? 3 : 1)
        }
    }

    @Test func `a closed standard output stays unusable and no file takes its place`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            close(1)
            ProcessHygiene.harden()
            do {
                try StandardStream.output.write("token")
            } catch let error as CredentialError {
                exit(error.code == .inputOutput && fcntl(1, F_GETFD) != -1 ? 3 : 1)
            }
        }
    }
}
