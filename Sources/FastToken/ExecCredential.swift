import CredentialCore
import StrictJSON

/// The object by which `kubectl` takes a token from a program (`client.authentication.k8s.io`).
package struct ExecCredential {
    /// The variable in which `kubectl` describes its request.
    package static let variable = "KUBERNETES_EXEC_INFO"

    let version: Version
    let token: String
    let expiresAt: Timestamp

    /// The versions of the object, which are alike.
    enum Version: String {
        case stable = "client.authentication.k8s.io/v1"
        case beta = "client.authentication.k8s.io/v1beta1"

        /// The version that `KUBERNETES_EXEC_INFO` asks for; the stable one when it is not set.
        ///
        /// - Throws: ``ErrorCode/usage`` when the variable holds no such object, ``ErrorCode/unsupported`` when it
        ///   asks for another version.
        static func asked(by execInfo: String?) throws(CredentialError) -> Version {
            guard let execInfo, !execInfo.isEmpty else { return .stable }
            guard let written = (try? JSONValue.parse(execInfo))?.object?["apiVersion"]?.string else {
                throw CredentialError(.usage, "KUBERNETES_EXEC_INFO must be a JSON object with an apiVersion")
            }
            guard let version = Version(rawValue: written) else {
                throw CredentialError(
                    .unsupported,
                    "KUBERNETES_EXEC_INFO requests the unsupported version "
                        + "'\(UntrustedText.shown(written, limit: 60))'",
                    hint:
                        "set apiVersion to \(Version.stable.rawValue) or \(Version.beta.rawValue) in the kubeconfig"
                )
            }
            return version
        }
    }

    /// The object.
    var json: JSONValue {
        [
            "apiVersion": .string(version.rawValue),
            "kind": "ExecCredential",
            "status": ["expirationTimestamp": .string(expiresAt.rfc3339), "token": .string(token)],
        ]
    }
}
