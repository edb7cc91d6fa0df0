package import CredentialCore

/// The result for one key of an iOS app's settings.
package struct ImportLine: Sendable, Hashable, CustomStringConvertible {
    /// The fate of a key.
    package enum Disposition: String, Sendable, CaseIterable {
        /// Taken over as it is.
        case used
        /// Taken over in another form, or added although the settings do not have it.
        case changed
        /// Left out: it has no meaning here.
        case ignored
        /// Not acceptable; the import fails.
        case refused
    }

    /// The key as the settings spell it.
    package let key: String
    /// Its line, counted from 1; `nil` if the form has no lines or the key is not there.
    package let line: Int?
    /// The result for the key.
    package let fate: Disposition
    /// The new name or value, or the reason; never the value of a secret.
    package let text: LocalizedMessage

    /// One line for people: "bhh (line 16) used as redirect_uri", "fullScreen (line 23) ignored: the layout …".
    package var told: LocalizedMessage {
        let place: LocalizedMessage = line.map { "\(key) (line \($0))" } ?? LocalizedMessage(verbatim: key)
        return switch fate {
        case .used: "\(place) used \(text)"
        case .changed: "\(place) changed \(text)"
        case .ignored: "\(place) ignored: \(text)"
        case .refused: "\(place) refused: \(text)"
        }
    }

    /// ``told`` in English.
    package var description: String { told.description }
}
