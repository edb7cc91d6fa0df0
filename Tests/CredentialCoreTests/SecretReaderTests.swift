import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// One rule for secrets, in all their places.
@Suite struct SecretReaderTests {
    private let machine = MemoryMachine(cryptography: LibCryptography())

    private func reader(
        environment: [String: String] = [:], output: ProcessResult? = nil, input: String? = nil
    ) -> SecretReader {
        let ports = machine.process()
        return SecretReader(
            environment: environment, files: ports.typeFiles,
            programs: output.map { Printing(result: $0) } ?? UnexpectedPrograms(),
            console: input.map { Typed(text: $0) })
    }

    private func refusal(_ body: () throws -> Void) -> CredentialError? {
        #expect(throws: CredentialError.self, performing: body)
    }

    @Test func `a file that others can read is refused as configuration, for every need`() throws {
        machine.setFile("/s", "x\n", isPrivate: false)
        for absence in [ErrorCode.usage, .configuration, .storeLocked] {
            let error = refusal {
                _ = try reader().read(
                    .file("/s"), for: SecretRequest("the password (--password-file)", absence: absence))
            }
            #expect(error?.code == .configuration)
            #expect(error?.code.exitStatus == 2)
            #expect(error?.message == "the password (--password-file): others can read the file /s")
            #expect(error?.hint == "chmod 600 /s")
        }
    }

    @Test func `a path from the user's home is the same from every folder`() throws {
        machine.setFile("/memory/home/s", "x\n")
        let secret = try reader(environment: ["HOME": "/memory/home"]).read(.file("~/s"), for: SecretRequest("it"))
        #expect(secret.reveal() == "x")
    }

    @Test func `a missing secret is reported in the words of the need`() throws {
        let need = SecretRequest("the passphrase (X)", absence: .storeLocked)
        for source in [SecretSource.file("/none"), .environment("NONE"), .systemdCredential("c"), .standardInput] {
            let error = refusal { _ = try reader().read(source, for: need) }
            #expect(error?.code == .storeLocked)
            #expect(error?.message.hasPrefix("the passphrase (X): ") == true)
        }
        let failed = ProcessResult(output: [], exitStatus: 3)
        let error = refusal { _ = try reader(output: failed).read(.command(["pass", "show"]), for: need) }
        #expect(error?.message == "the passphrase (X): the command pass ended with 3")
    }

    @Test func `every source gives the first line, or the whole text of a key`() throws {
        machine.setFile("/s", "one\ntwo\n\n")
        machine.setFile("/run/credentials/unit/c", "one\r\ntwo", isPrivate: false)
        let printed = ProcessResult(output: Array("one\ntwo\n".utf8), exitStatus: 0)
        let line = SecretRequest("it")
        let reader = reader(
            environment: ["V": "one\ntwo", "CREDENTIALS_DIRECTORY": "/run/credentials/unit"], output: printed,
            input: "one\ntwo\n")
        let sources = [
            SecretSource.file("/s"), .environment("V"), .command(["pass"]), .systemdCredential("c"), .standardInput,
        ]
        for source in sources { #expect(try reader.read(source, for: line).reveal() == "one") }
        let text = SecretRequest("it", isText: true)
        for source in [SecretSource.file("/s"), .environment("V"), .command(["pass"]), .standardInput] {
            #expect(try reader.read(source, for: text).reveal() == "one\ntwo")
        }
        #expect(try reader.read(.prompt("It: "), for: line).reveal() == "one\ntwo\n")
    }

    @Test func `an editor's byte order mark is no part of a secret`() throws {
        machine.setFile("/s", "\u{FEFF}one\ntwo\n")
        machine.setFile("/empty", "\u{FEFF}\n")
        #expect(try reader().read(.file("/s"), for: SecretRequest("it")).reveal() == "one")
        #expect(try reader().read(.file("/s"), for: SecretRequest("it", isText: true)).reveal() == "one\ntwo")
        #expect(try reader(input: "\u{FEFF}one").read(.standardInput, for: SecretRequest("it")).reveal() == "one")
        #expect(
            refusal { _ = try reader().read(.file("/empty"), for: SecretRequest("it")) }?.message.contains(
                "is empty")
                == true)
        #expect(
            refusal { _ = try reader().read(.file("/empty"), for: SecretRequest("it", isText: true)) }?.message
                .contains("is empty") == true)
    }

    @Test func `a source with a second line is refused if the secret has one line`() throws {
        let printed = ProcessResult(output: Array("one\ntwo\n".utf8), exitStatus: 0)
        let need = SecretRequest("the client_secret of account type Work", isText: true, isOneLine: true)
        for text in ["one\ntwo", "one\r\ntwo\n", "\none", "one\n\ntwo"] {
            machine.setFile("/s", text)
            let error = refusal { _ = try reader().read(.file("/s"), for: need) }
            #expect(error?.code == .configuration)
            #expect(error?.message == "the client_secret of account type Work: the file /s has more than one line")
        }
        #expect(refusal { _ = try reader(output: printed).read(.command(["pass"]), for: need) } != nil)
        for text in ["one", "one\n", "one\r\n"] {
            machine.setFile("/s", text)
            #expect(try reader().read(.file("/s"), for: need).reveal() == "one")
        }
    }

    @Test func `an empty secret is none`() throws {
        machine.setFile("/s", "\n")
        #expect(refusal { _ = try reader().read(.file("/s"), for: SecretRequest("it")) }?.code == .configuration)
    }

    private struct Printing: ProcessRunner {
        let result: ProcessResult

        func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult { result }

        func refreshWorker(
            _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
        ) throws(CredentialError) -> [UInt8] { [] }
    }

    private struct Typed: SecretPrompt {
        let text: String

        func ask(_ prompt: LocalizedMessage, isSecret: Bool) throws(CredentialError) -> Secret { Secret(text) }
        func readInputLine() throws(CredentialError) -> String? {
            text.split(separator: "\n").first.map(String.init)
        }
        func readInput(limit: Int) throws(CredentialError) -> [UInt8] { Array(text.utf8) }
    }
}
