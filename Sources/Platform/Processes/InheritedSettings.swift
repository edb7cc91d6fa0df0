import Glibc

/// The settings of the caller that this process changed for itself, and that programs that run for the caller get
/// back.
package struct InheritedSettings: Sendable {
    private let fileMode: mode_t
    private let core: rlimit

    /// Applies the settings for a process that holds tokens, and remembers the earlier ones: new files belong to
    /// the user alone, and there is no core file.
    package static func replace() -> InheritedSettings {
        var core = rlimit()
        _ = unsafe getrlimit(coreLimit, &core)
        var none = rlimit(rlim_cur: 0, rlim_max: core.rlim_max)
        _ = unsafe setrlimit(coreLimit, &none)
        return InheritedSettings(fileMode: umask(ownersOnly), core: core)
    }

    /// Restores the earlier settings.
    package func restore() {
        var before = core
        _ = unsafe setrlimit(Self.coreLimit, &before)
        umask(fileMode)
    }

    /// Runs `body` with the caller's settings.
    func restored<Result>(_ body: () -> Result) -> Result {
        restore()
        defer { _ = Self.replace() }
        return body()
    }

    private static let ownersOnly: mode_t = 0o077
    private static var coreLimit: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_CORE.rawValue) }
}
