/// The features that are allowed on a terminal, by its environment.
package enum TerminalCapabilities {
    /// Whether text on the terminal may be painted over: not if a screen reader or a log reads along
    /// (`CREDMGR_ACCESSIBLE=1`), and not on a terminal that cannot.
    package static func repaints(_ environment: [String: String]) -> Bool {
        environment["CREDMGR_ACCESSIBLE"] != "1" && environment["TERM"] != "dumb"
    }
}
