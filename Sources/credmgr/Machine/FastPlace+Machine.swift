import FastToken
import Platform
import SealedCache

extension FastPlace {
    /// What there is on this machine; `nil` without a home folder or without a cache, which is not made here.
    static func ofThisMachine() -> FastPlace? {
        // What is neither is refused by the long way.
        guard ["", "on"].contains(ProcessEnvironment.variable("CREDMGR_CACHE") ?? ""),
            let directories = try? BaseDirectories(variable: ProcessEnvironment.variable),
            let cache = SealedCache(runtime: ProcessEnvironment.variable("XDG_RUNTIME_DIR"), clock: SystemClock())
                .opened()
        else { return nil }
        return FastPlace(
            dataHome: directories.dataFolder, typeFolders: directories.typeFolders,
            configurationFile: directories.configurationFile, variable: { ProcessEnvironment.variable($0) },
            tokenCache: cache, fileStates: SystemFileStates(), clock: SystemClock())
    }
}
