package import CredentialCore
import StrictJSON

/// The bodies of errors of OAuth endpoints.
extension SecretRemoval {
    /// A body without the secrets: in JSON, those of each string as it reads. JSON without a secret stays as it is
    /// written.
    package func cleaned(body: [UInt8]) -> [UInt8] {
        guard let document = try? JSONValue.parse(body) else { return cleaned(body) }
        let clean = cleaned(document)
        return cleaned(clean == document ? body : clean.bytes())
    }

    private func cleaned(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(cleaned(text))
        case .array(let elements): .array(elements.map(cleaned))
        case .object(let object): .object(cleaned(object))
        default: value
        }
    }

    private func cleaned(_ object: JSONObject) -> JSONObject {
        var clean = JSONObject()
        for (name, value) in object.members {
            let isEcho = Self.parameters.contains(name) && value.string.map(isShortSecret) == true
            clean[name] = isEcho ? .string(Self.mark) : cleaned(value)
        }
        return clean
    }

    /// The parameters of a request whose values are secret: a member of an error that has such a name repeats the
    /// parameter.
    private static let parameters: Set = [
        "assertion", "client_assertion", "client_secret", "code", "code_verifier", "device_code", "id_token_hint",
        "password", "refresh_token", "subject_token", "actor_token", "token",
    ]
}
