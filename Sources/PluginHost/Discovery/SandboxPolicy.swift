package import CredentialCore
package import Platform

/// How the plugins of this machine are confined, in addition to the access that each asks for.
package struct SandboxPolicy: Sendable {
    private let program: String?
    /// Directories that no plugin gets, even if its manifest asks for them.
    let keptOut: [String]
    private let refused: Set<ContainmentWay>
    private let patience: Int64
    private let trusted: @Sendable () throws(CredentialError) -> [String]

    /// Describes the confinement.
    ///
    /// - Parameters:
    ///   - supervisor: the path of a `credmgr`; without one no plugin is run.
    ///   - keptOut: directories that no plugin gets, even if its manifest asks for them.
    ///   - refused: the features to do without, as on a machine that does not have them.
    ///   - patience: how long to wait for a supervisor that was asked to end a plugin, in milliseconds.
    ///   - trusted: the plugins that the user's configuration has run without walls; asked when one is to be run.
    package init(
        supervisor: String?, keptOut: [String], without refused: Set<ContainmentWay> = [],
        patience: Int64 = 30_000,
        trusted: @escaping @Sendable () throws(CredentialError) -> [String] = { () throws(CredentialError) in [] }
    ) {
        program = supervisor
        self.keptOut = keptOut
        self.refused = refused
        self.patience = patience
        self.trusted = trusted
    }

    /// The program that confines plugins.
    ///
    /// - Throws: ``ErrorCode/configuration`` if no supervisor is installed.
    package func supervisor() throws(CredentialError) -> String {
        if let program { return program }
        throw CredentialError(
            .configuration, "cannot run plugins: credmgr is not installed",
            hint: "install credmgr in /usr or /usr/local")
    }

    /// Runs programs confined.
    ///
    /// - Throws: as ``supervisor()``.
    func confinedProgram() throws(CredentialError) -> SandboxedProgram {
        SandboxedProgram(supervisor: try supervisor(), without: refused, patience: patience)
    }

    /// Whether the user's configuration has this plugin run without walls.
    func isLifted(_ name: String) throws(CredentialError) -> Bool { try trusted().contains(name) }
}
