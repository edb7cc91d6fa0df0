package import CredentialCore

/// The errors that a plugin may reply.
package enum PluginError {
    /// The closed list of codes.
    package enum Code: String, Sendable, CaseIterable {
        /// The account type or its client is set up wrong.
        case configuration
        /// The operation or flow is one that the plugin or the provider lacks.
        case unsupported
        /// Trouble that may pass by itself: network, overload.
        case temporary
        /// The provider or the person said no.
        case denied
        /// The person cancelled.
        case cancelled
        /// The grant is gone: a person has to sign in.
        case signInRequired = "sign_in_required"
        /// A reply of the provider that fails validation: state, nonce, signature.
        case validationFailed = "validation_failed"
        /// The provider broke its own protocol.
        case malformedReply = "malformed_reply"
        /// The request cannot be read.
        case malformedRequest = "malformed_request"
        /// The plugin does not speak the version of the request.
        case unsupportedVersion = "unsupported_version"

        /// The code of the product, which decides the exit status.
        package var errorCode: ErrorCode {
            switch self {
            case .configuration, .unsupportedVersion: .configuration
            case .unsupported: .unsupported
            case .temporary: .temporary
            case .denied: .denied
            case .cancelled: .cancelled
            case .signInRequired: .signInRequired
            case .validationFailed: .validationFailed
            case .malformedReply, .malformedRequest: .malformedReply
            }
        }
    }

    /// The error of a plugin that its supervisor has been asked to end, and is still ending.
    static func remaining(_ plugin: String, _ supervisor: Int32) -> CredentialError {
        CredentialError(
            .inputOutput,
            "the plugin \(plugin) does not end: its supervisor, process \(supervisor), is still ending its processes",
            hint: "credmgr doctor")
    }

    /// The error that a reply reports.
    ///
    /// - Throws: ``ErrorCode/malformedReply`` when it does not report one properly.
    static func error(
        _ reply: PluginReply, plugin: String, _ redactor: Redactor
    ) throws(CredentialError) -> CredentialError {
        let word = try reply.reader.requiredText("code", limit: 64)
        guard let code = Code(rawValue: word) else {
            throw reply.reader.fault("code", "has the unknown value '\(UntrustedText.shown(word, limit: 40))'")
        }
        let message = redactor.shown(try reply.reader.requiredText("message", limit: 4_096))
        let hint = try reply.reader.text("hint", limit: 1_024).map {
            LocalizedMessage(verbatim: redactor.shown($0))
        }
        return CredentialError(code.errorCode, "\(plugin): \(message)", hint: hint)
    }
}
