import CLinux
import CredentialCore
import Synchronization

/// The person's language by the catalogues of gettext, as the C library finds it: `LC_ALL`, `LC_MESSAGES`, `LANG`,
/// `LANGUAGE`.
///
/// No catalogue is opened before the first message. English if the locale is not there, is C or POSIX, or does not
/// write UTF-8, and if there is no catalogue. The process itself stays in the C locale, so that neither numbers nor
/// the system's error texts depend on the language. Only the thread that looks a message up uses the locale,
/// meanwhile.
package final class Gettext: Translations {
    private static let domain = "credmgr"

    private let folder: @Sendable () -> String?
    private let state = Mutex(State.unopened)

    private enum State {
        case unopened
        case english
        /// The address of a `locale_t`; it is kept as long as the process lives.
        case locale(UInt)
    }

    /// Opens nothing yet.
    ///
    /// - Parameter folder: gives the folder with `LANGUAGE/LC_MESSAGES/credmgr.mo`; `nil` for English.
    package init(folder: @escaping @Sendable () -> String?) { self.folder = folder }

    package func translation(of template: String) -> String {
        inLocale(else: template) {
            unsafe template.withCString { key in
                unsafe linux_libc_dgettext(Self.domain, key).map { unsafe String(cString: $0) }
            }
        }
    }

    package func translation(of one: String, _ other: String, for count: Int) -> String {
        inLocale(else: count == 1 ? one : other) {
            unsafe one.withCString { one in
                unsafe other.withCString { other in
                    unsafe linux_libc_dngettext(Self.domain, one, other, count.magnitude)
                        .map { unsafe String(cString: $0) }
                }
            }
        }
    }

    /// A copy of the text that is looked up: gettext returns the key itself if it has no translation, and the key
    /// lives no longer than the call.
    private func inLocale(else english: String, _ look: () -> String?) -> String {
        state.withLock { state in
            if case .unopened = state { state = opened() }
            guard case .locale(let address) = state else { return english }
            let before = unsafe linux_libc_uselocale(UnsafeMutableRawPointer(bitPattern: address))
            defer { unsafe linux_libc_uselocale(before) }
            return look() ?? english
        }
    }

    private func opened() -> State {
        guard let folder = folder(), let locale = unsafe linux_libc_newlocale(linux_locale_of_messages, "", nil)
        else {
            return .english
        }
        guard let codeset = unsafe linux_libc_nl_langinfo_l(linux_locale_codeset, locale),
            unsafe String(cString: codeset) == "UTF-8"
        else { return .english }
        unsafe linux_libc_bindtextdomain(Self.domain, folder)
        unsafe linux_libc_bind_textdomain_codeset(Self.domain, "UTF-8")
        return .locale(UInt(bitPattern: locale))
    }
}
