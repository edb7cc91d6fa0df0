package import CredentialCore
package import StrictJSON

/// The reply of the device authorization endpoint (RFC 8628 §3.2).
package struct DeviceAuthorization: Sendable {
    /// The code that the client polls with.
    package var deviceCode: Secret
    /// The code that the user enters; shown, so it holds printable ASCII only.
    package var userCode: String
    /// The URI at which the user enters it.
    package var verificationURI: URI
    /// The same with the code in it.
    package var complete: URI?
    /// When both codes end.
    package var expires: Timestamp
    /// Seconds between two polls.
    package var interval: Int

    /// The seconds between polls that hold when the reply does not say (RFC 8628 §3.2).
    package static let defaultInterval: Int64 = 5

    /// Reads a reply.
    ///
    /// - Parameter place: the reply, for messages.
    /// - Throws: ``ErrorCode/malformedReply`` when a part is missing or not fit to be shown;
    ///   ``ErrorCode/validationFailed`` for an address that is neither `https` nor loopback.
    package init(
        _ members: JSONObject, from place: LocalizedMessage, now: Timestamp
    ) throws(CredentialError) {
        guard let code = members["device_code"]?.string, !code.isEmpty, code.utf8.count <= 1 << 14 else {
            throw Self.malformed("device_code")
        }
        guard let userCode = members["user_code"]?.string, (1...64).contains(userCode.utf8.count),
            userCode.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else { throw Self.malformed("user_code") }
        // Google's `verification_url` dates from a draft.
        guard let text = members["verification_uri"]?.string ?? members["verification_url"]?.string, !text.isEmpty
        else { throw Self.malformed("verification_uri") }
        guard let address = Self.address(text) else {
            throw AddressAuthor.refusal(ofUnprotected: text, as: "verification_uri", in: place)
        }
        deviceCode = Secret(code)
        self.userCode = userCode
        verificationURI = address
        complete = members["verification_uri_complete"]?.string.flatMap(Self.address)
        expires = now.adding(LenientNumber.read(members["expires_in"], in: 0...86_400) ?? 600)
        interval = Int(LenientNumber.read(members["interval"], in: 1...300) ?? Self.defaultInterval)
    }

    private static func address(_ text: String) -> URI? {
        URI(text).flatMap { $0.isWeb && $0.isSecure ? $0 : nil }
    }

    private static func malformed(_ name: String) -> CredentialError {
        CredentialError(.malformedReply, "the device authorization response has no valid \(name)")
    }
}
