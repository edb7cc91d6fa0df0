import CredentialCore
import StrictJSON

/// The two messages between a caller and its refresh worker: JSON on a pipe, never in a file or in arguments.
enum RefreshWire {
    // MARK: Job

    static func encode(_ job: RefreshJob) -> [UInt8] {
        var object = JSONObject()
        object["group"] = .string(job.group.name)
        object["type_name"] = .string(job.type.name)
        object["type"] = .object(job.type.json)
        object["key"] = .object(job.key.json)
        object["subject_key"] = job.subjectKey.map { .object($0.json) }
        object["scope"] = JSONValue(job.scope)
        object["token_set"] = .object(job.tokenSet.json)
        return JSONValue.object(object).bytes()
    }

    static func decodeJob(_ bytes: [UInt8]) throws(CredentialError) -> RefreshJob {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object,
            let group = object["group"]?.string, let name = object["type_name"]?.string,
            let type = object["type"]?.object,
            let key = object["key"]?.object.flatMap(TokenRequestKey.init(json:)),
            let scope = object["scope"]?.array?.compactMap(\.string), let tokenSet = object["token_set"]?.object
        else { throw CredentialError(.internalFault, "a refresh job that cannot be read") }
        var job = RefreshJob(
            group: try KeychainGroup(group),
            type: try AccountType(name: name, json: type, isPrivateFile: true, place: "the refresh job"), key: key,
            scope: scope, tokenSet: try TokenSet(json: tokenSet))
        job.subjectKey = object["subject_key"]?.object.flatMap(TokenRequestKey.init(json:))
        return job
    }

    // MARK: Answer

    static func encode(_ outcome: RefreshOutcome) -> [UInt8] {
        var object = JSONObject()
        object["token"] = .object(outcome.token.json)
        object["id_token"] = outcome.idToken.map { .string($0.reveal()) }
        object["warnings"] = JSONValue(outcome.warnings)
        return JSONValue.object(object).bytes()
    }

    static func encode(_ error: CredentialError) -> [UInt8] {
        var object = JSONObject()
        object["error"] = .string(error.code.rawValue)
        object["message"] = .string(error.message)
        object["hint"] = error.hint.map(JSONValue.string)
        object["details"] = JSONValue(error.details)
        return JSONValue.object(object).bytes()
    }

    /// Reads an answer, and throws the error that it may be.
    static func decodeAnswer(_ bytes: [UInt8]) throws(CredentialError) -> RefreshOutcome {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object else { throw died() }
        if let code = object["error"]?.string.flatMap(ErrorCode.init(rawValue:)) {
            throw CredentialError(
                code, object["message"]?.string ?? code.rawValue, hint: object["hint"]?.string,
                details: object["details"]?.array?.compactMap(\.string) ?? [])
        }
        guard let token = object["token"]?.object.flatMap(AccessToken.init(json:)) else { throw died() }
        return RefreshOutcome(
            token: token, idToken: object["id_token"]?.string.map(Secret.init),
            warnings: object["warnings"]?.array?.compactMap(\.string) ?? [])
    }

    private static func died() -> CredentialError {
        CredentialError(.temporary, "the refresh worker ended without an answer", hint: "try again")
    }
}
