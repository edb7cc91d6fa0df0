import Glibc

/// Variables by which the libraries of this process would write down, show or send elsewhere what is secret, and which
/// no user of a finished program wants. What users do set stays: proxies, certificate files, `LD_PRELOAD`,
/// `OPENSSL_CONF`.
package enum LibrarySettings {
    /// The variables, by library.
    package static let dropped = [
        // libcurl and GnuTLS: the keys of every TLS connection go into this file. OpenSSL's QUIC: its events.
        "SSLKEYLOGFILE", "QLOGDIR", "OSSL_QFILTER",
        // GnuTLS, p11-kit and Kerberos, which libcurl may be built with: what they do, on standard error or in a file.
        "GNUTLS_DEBUG_LEVEL", "P11_KIT_DEBUG", "KRB5_TRACE",
        // GLib: messages on standard output, where the token goes; messages of the bus; an abort at a warning.
        "G_MESSAGES_DEBUG", "G_DBUS_DEBUG", "G_DEBUG",
        // libsecret: another place for the secrets than the keyring that accounts name.
        "SECRET_BACKEND", "SECRET_SERVICE_BUS_NAME", "SECRET_FILE_TEST_PATH", "SECRET_FILE_TEST_PASSWORD",
    ]

    /// Takes them out of this process; programs that run for the caller still get them. Call it while there is one
    /// thread, before a library is opened.
    package static func drop() { for name in dropped { _ = unsafe unsetenv(name) } }
}
