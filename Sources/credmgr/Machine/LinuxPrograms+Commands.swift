import Commands
import CredentialCore
import LocalMachine
import Platform

extension LinuxPrograms: ProcessPort {
    func otherProgram(_ word: String) -> String? { ExecutablePath.findOther(word, environment: environment) }

    var ownPath: String { ExecutablePath.command ?? "credmgr" }

    func isThere(_ path: String) -> Bool { SystemFileStates().state(of: path) != nil }

    func linkTarget(_ path: String) -> String? { UserOutputFile.linkTarget(path) }

    func link(_ path: String, to target: String) throws(CredentialError) {
        try UserOutputFile.link(path, to: target)
    }

    func readFile(_ path: String) throws(CredentialError) -> [UInt8]? {
        try UserInputFile.read(path, limit: 8 << 20)?.content
    }

    func replaceFile(
        _ path: String, _ bytes: [UInt8], isProgram: Bool, isSecret: Bool
    ) throws(CredentialError) {
        try UserOutputFile.replace(path, bytes, isProgram: isProgram, isSecret: isSecret)
    }

    func removeFile(_ path: String) throws(CredentialError) { try UserOutputFile.remove(path) }

    func withdrawFile(_ path: String) throws(CredentialError) { try UserOutputFile.withdraw(path) }

    func removeFolder(_ path: String) { UserOutputFile.removeFolder(path) }

    func createFile(_ path: String) throws(CredentialError) -> any OutputFile { try UserOutputFile(path) }
}

extension UserOutputFile: OutputFile {}
