import StrictJSON

/// The two messages between a caller and its refresh worker: JSON on a pipe, never in a file or in arguments.
package enum RefreshWorkerProtocol {
    /// The hidden command of this program that makes it a refresh worker.
    package static let command = "__refresh-worker"

    // MARK: Request

    /// As bytes.
    package static func encode(_ request: TokenService.Request) -> [UInt8] {
        var object = JSONObject()
        object["group"] = .string(request.group.name)
        object["account"] = .object(request.account.json)
        object["type_name"] = .string(request.type.name)
        object["type"] = .object(request.type.json)
        object["key"] = .object(request.key.json)
        object["scope"] = JSONValue(request.scope)
        object["login_scope"] = JSONValue(request.loginScope)
        object["subject_key"] = (request.subject?.key.json).map(JSONValue.object)
        object["subject_scope"] = (request.subject?.scope).map { JSONValue($0) }
        object["min_valid"] = request.freshness.minimumValidity.map(JSONValue.integer)
        object["min_valid_demanded"] = .bool(request.freshness.isDemanded)
        object["force_refresh"] = .bool(request.forceRefresh)
        object["take_over"] = .bool(request.takesOver)
        object["waited"] = .integer(request.waited)
        object["handed"] = request.handed.map(JSONValue.object)
        return JSONValue.object(object).bytes()
    }

    /// Reads a request.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    package static func decodeRequest(_ bytes: [UInt8]) throws(CredentialError) -> TokenService.Request {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object,
            let group = object["group"]?.string, let account = object["account"]?.object,
            let name = object["type_name"]?.string, let type = object["type"]?.object,
            let key = object["key"]?.object.flatMap(TokenRequestKey.init(json:)),
            let scope = strings(object["scope"]),
            let forceRefresh = object["force_refresh"]?.bool
        else { throw CredentialError(.internalFault, "a refresh job that cannot be read") }
        var request = TokenService.Request(
            group: try KeychainGroup(group), account: try Account(json: account),
            type: try AccountType(name: name, json: type, isPrivateFile: true, place: "the refresh job"), key: key,
            scope: scope,
            freshness: Freshness(
                minimumValidity: object["min_valid"]?.integer,
                isDemanded: object["min_valid_demanded"]?.bool ?? false),
            forceRefresh: forceRefresh)
        request.loginScope = strings(object["login_scope"]) ?? []
        request.takesOver = object["take_over"]?.bool ?? false
        request.waited = object["waited"]?.integer ?? 0
        request.handed = object["handed"]?.object
        if let key = object["subject_key"]?.object.flatMap(TokenRequestKey.init(json:)),
            let scope = strings(object["subject_scope"])
        {
            request.subject = (key, scope)
        }
        return request
    }

    private static func strings(_ value: JSONValue?) -> [String]? { value?.array?.compactMap(\.string) }

    // MARK: Answer

    /// As bytes.
    ///
    /// - Parameter notes: the worker's notes for `--verbose`.
    package static func encode(_ answer: TokenService.Answer, notes: [String] = []) -> [UInt8] {
        var object = JSONObject()
        object["token"] = .object(answer.token.json)
        object["id_token"] = answer.idToken.map { .string($0.reveal()) }
        object["refreshed"] = .bool(answer.refreshed)
        object["warnings"] = .array(answer.warnings.map(\.json))
        object["failure"] = answer.failure.map { .object(Self.object($0)) }
        object["notes"] = JSONValue(notes)
        return JSONValue.object(object).bytes()
    }

    /// As bytes.
    package static func encode(_ error: CredentialError, notes: [String] = []) -> [UInt8] {
        var object = object(error)
        object["notes"] = JSONValue(notes)
        return JSONValue.object(object).bytes()
    }

    /// Returns the notes of the worker for `--verbose`.
    package static func notes(in bytes: [UInt8]) -> [String] {
        (try? JSONValue.parse(bytes, limits: .ownFile))?.object.flatMap { strings($0["notes"]) } ?? []
    }

    /// Reads a response, and throws the error that it may be; ``ErrorCode/temporary`` if it is not a response.
    package static func decodeAnswer(_ bytes: [UInt8]) throws(CredentialError) -> TokenService.Answer {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object else { throw died() }
        if let failure = error(object) { throw failure }
        guard let token = object["token"]?.object.flatMap(AccessToken.init(json:)),
            let refreshed = object["refreshed"]?.bool
        else { throw died() }
        return TokenService.Answer(
            token: token, idToken: object["id_token"]?.string.map(Secret.init), refreshed: refreshed,
            warnings: object["warnings"]?.array?.compactMap(LocalizedMessage.init(json:)) ?? [],
            failure: object["failure"]?.object.flatMap(error))
    }

    private static func object(_ error: CredentialError) -> JSONObject {
        var object = JSONObject()
        object["error"] = .string(error.code.rawValue)
        object["message"] = error.text.json
        object["hint"] = error.advice?.json
        object["details"] = JSONValue(error.details)
        object["final"] = .bool(error.forbidsStaleToken)
        object["unreached"] = .bool(error.isClusterUnusable)
        return object
    }

    private static func error(_ object: JSONObject) -> CredentialError? {
        object["error"]?.string.flatMap(ErrorCode.init(rawValue:)).map { code in
            var error = CredentialError(
                code,
                object["message"].flatMap(LocalizedMessage.init(json:))
                    ?? LocalizedMessage(verbatim: code.rawValue),
                hint: object["hint"].flatMap(LocalizedMessage.init(json:)),
                details: strings(object["details"]) ?? [])
            error.forbidsStaleToken = object["final"]?.bool ?? false
            error.isClusterUnusable = object["unreached"]?.bool ?? false
            return error
        }
    }

    private static func died() -> CredentialError {
        CredentialError(.temporary, "the refresh worker ended without a response", hint: "try again")
    }
}
