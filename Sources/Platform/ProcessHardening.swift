import CLinux
import Glibc

/// The steps that a process that holds tokens takes before all others.
package enum ProcessHardening {
    /// Makes the process keep its memory to itself. Call it first in `main`.
    ///
    /// - Crash signals get their default action: the reporter of the Swift runtime prints registers, and a token
    ///   may be in one.
    /// - No core file, and no process of the same user may read this one's memory or environment.
    /// - New files belong to the user alone.
    /// - Writing to a closed pipe, or past a limit on the size of files, is an error to handle, not the end.
    /// - Descriptors 0 to 2 are open, so that no file opened later becomes standard output. A descriptor that was
    ///   closed still fails when it is used: credmgr does not report a token as printed when it was not.
    ///
    /// - Returns: the changed settings that programs which run for the caller should not inherit.
    package static func harden() -> InheritedSettings {
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGQUIT] { signal(number, SIG_DFL) }
        // A limit on the size of files (RLIMIT_FSIZE) is an error of a write, too.
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
        _ = linux_set_dumpable(0)
        let settings = InheritedSettings.replace()
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest free number is this one. The access mode is the one that is of no use on it.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        return settings
    }
}

/// The message that is printed when a library ends the process: GLib and libgcrypt, which libsecret uses, do so if
/// they get no descriptor, no thread or no memory.
package enum AbortHandler {
    /// Turns the end by a library into an error message and the exit status 1, which is that of faults of our own.
    /// Call it after ``ProcessHardening/harden()``.
    package static func install() {
        // abort() and, of GLib, a breakpoint. The handler may only write and leave.
        for number in [SIGABRT, SIGTRAP] {
            signal(number) { _ in
                let text: StaticString = """
                    credmgr: error: a library gave up, as it does without free descriptors, threads or memory
                    credmgr: hint: try again; 'ulimit -n' and 'ulimit -u' show the limits

                    """
                _ = unsafe write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
                _exit(1)
            }
        }
    }
}

/// Variables by which the libraries of this process would log, show or send secrets, and which no user of a
/// finished program needs. Variables that users do set stay: proxies, certificate files, `LD_PRELOAD`,
/// `OPENSSL_CONF`.
package enum LibraryEnvironment {
    /// The variables, by library.
    package static let dropped = [
        // libcurl and GnuTLS: the keys of every TLS connection go into this file. OpenSSL's QUIC: its events.
        "SSLKEYLOGFILE", "QLOGDIR", "OSSL_QFILTER",
        // GnuTLS, p11-kit and Kerberos, which libcurl may be built with: their traces, on standard error or in a
        // file.
        "GNUTLS_DEBUG_LEVEL", "P11_KIT_DEBUG", "KRB5_TRACE",
        // GLib: messages on standard output, to which the token goes; messages of the bus; an abort at a warning.
        "G_MESSAGES_DEBUG", "G_DBUS_DEBUG", "G_DEBUG",
        // libsecret: another place for the secrets than the keyring that accounts name.
        "SECRET_BACKEND", "SECRET_SERVICE_BUS_NAME", "SECRET_FILE_TEST_PATH", "SECRET_FILE_TEST_PASSWORD",
    ]

    /// Takes them out of this process; programs that run for the caller still get them. Call it while there is one
    /// thread, before a library is opened.
    package static func drop() { for name in dropped { _ = unsafe unsetenv(name) } }
}
