import Commands
import CredentialCore
import LocalMachine
import Platform

extension LinuxPrograms: Programs {
    func otherProgram(_ word: String) -> String? { ExecutablePath.findOther(word, environment: environment) }

    var ownPath: String { ExecutablePath.command ?? "credmgr" }

    func isThere(_ path: String) -> Bool { SystemFileStates().state(of: path) != nil }

    func linkTarget(_ path: String) -> String? { UserFile.linkTarget(path) }

    func link(_ path: String, to target: String) throws(CredentialError) {
        try UserFile.link(path, to: target)
    }

    func readFile(_ path: String) throws(CredentialError) -> [UInt8]? {
        try PlainFile.read(path, limit: 8 << 20)?.content
    }

    func replaceFile(
        _ path: String, _ bytes: [UInt8], isProgram: Bool, isSecret: Bool
    ) throws(CredentialError) {
        try UserFile.replace(path, bytes, isProgram: isProgram, isSecret: isSecret)
    }

    func removeFile(_ path: String) throws(CredentialError) { try UserFile.remove(path) }

    func withdrawFile(_ path: String) throws(CredentialError) { try UserFile.withdraw(path) }

    func removeFolder(_ path: String) { UserFile.removeFolder(path) }

    func createFile(_ path: String) throws(CredentialError) -> any OutputFile { try UserFile(path) }
}

extension UserFile: OutputFile {}
