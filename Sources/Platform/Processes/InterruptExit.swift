import Glibc

/// For commands that run until they are interrupted and have no state to remove.
package enum InterruptExit {
    /// From here on SIGINT ends the process with the exit status 130.
    package static func install() { signal(SIGINT) { _ in _exit(130) } }
}
