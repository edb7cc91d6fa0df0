import Commands
import CredentialCore
import FastToken
import Glibc
import LocalMachine
import Platform
import Relay

// Before anything else: hide the data that a crash or another process could read.
let caller = ProcessHardening.harden()
AbortHandler.install()

let words = ProgramAlias.words(of: CommandLine.arguments)
let translations = Gettext { ExecutablePath.catalogues }
let status: Int32
do throws(CredentialError) {
    // Without them every command would look like a call for help, and succeed.
    guard CommandLine.argc > 0 else { throw CredentialError(.internalFault, "cannot read the arguments") }
    // Git writes its request only once, and the command reads it.
    if let token = FastToken.answer(words, message: { nil }, in: FastPathEnvironment.ofThisMachine) {
        try StandardStream.output.write(token)
        _exit(0)
    }
    ProcessMemory.shareOneArena()
    ProcessMemory.overwriteFreed()
    let environment = ProcessEnvironment.variables()
    LibraryEnvironment.drop()
    if words.first == LateRedirectResponder.command {
        _exit(LateRedirectResponder.run(words, random: SystemRandom(), translations: translations))
    }
    // In a sandbox there may be no home.
    if let relay = RelayArguments(words) {
        let console = LinuxConsole(translations: translations)
        try Relay(relay, environment: environment) { error in
            console.writeNotice(ErrorRenderer(translations: translations).warning(error))
        }.run(caller: caller).endThisProcess()
    }
    let machine = try Machine(environment: environment, caller: caller, translations: translations)
    if words == [RefreshWorkerProtocol.command] {
        let life = WorkerLife()
        try life.start()
        status = RefreshWorker.run(
            machine.context, lock: try FileLock(inherited: DetachedWorker.lockDescriptor), life: life)
    } else if words.first == ExecHandover.command {
        try ExecCommand.carryOn(words, in: machine.context)
    } else {
        status = Program(context: machine.context).run(words)
    }
} catch {
    LinuxConsole(translations: translations).writeNotice(ErrorRenderer(translations: translations).error(error))
    status = error.code.exitStatus
}
ProcessMemory.overwriteKept()
// Not `exit`: a library call that was given up on at its deadline may still hold locks that exit handlers want.
_exit(status)
