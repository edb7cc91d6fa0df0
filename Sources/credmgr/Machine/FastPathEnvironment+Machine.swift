import FastToken
import Platform
import SealedCache

extension FastPathEnvironment {
    /// The place on this machine; `nil` without a home folder or without a cache, which is not made here.
    static func ofThisMachine() -> FastPathEnvironment? {
        // The full command rejects any other value.
        guard ["", "on"].contains(ProcessEnvironment.variable("CREDMGR_CACHE") ?? ""),
            let directories = try? BaseDirectories(variable: ProcessEnvironment.variable),
            let cache = SealedCache(runtime: ProcessEnvironment.variable("XDG_RUNTIME_DIR"), clock: SystemClock())
                .opened()
        else { return nil }
        return FastPathEnvironment(
            dataHome: directories.dataFolder, typeFolders: directories.typeFolders,
            configurationFile: directories.configurationFile, variable: { ProcessEnvironment.variable($0) },
            tokenCache: cache, fileStates: SystemFileStates(), clock: SystemClock())
    }
}
