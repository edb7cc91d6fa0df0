import CredentialCore
public import StrictJSON

extension BrokerService {
    /// Answers one of the helpers for other programs.
    ///
    /// - Throws: ``BrokerFailure``.
    public func helper(
        _ helper: BrokerHelper, input: JSONObject, entry: String?, to caller: Caller
    ) throws(BrokerFailure) -> JSONObject {
        // A helper that is refused before a release counts, too.
        do throws(BrokerFailure) { try admit() } catch {
            throw refused(error, entry, nil, helper.rawValue, caller)
        }
        return switch helper {
        case .git: try git(input, entry, caller)
        case .docker: try docker(input, entry, caller)
        case .kubernetes: try kubernetes(input, entry, caller)
        case .aws: try aws(input, entry, caller)
        }
    }

    /// The user name for servers that check only the token; GitLab requires it.
    private static let usualUsername = "oauth2"

    /// Answers git (gitcredentials(7)). An input with a password is git's `erase`: the server refused that token.
    private func git(
        _ input: JSONObject, _ entryName: String?, _ caller: Caller
    ) throws(BrokerFailure) -> JSONObject {
        guard let scheme = input["protocol"]?.string, let host = input["host"]?.string else {
            throw BrokerFailure(.malformed)
        }
        let place = HelperDestination(
            scheme: scheme, authority: host, path: input["path"]?.string, username: input["username"]?.string)
        let (entry, permission) = try permitted(place, entryName, caller)
        if let refused = input["password"]?.string ?? input["credential"]?.string {
            _ = try replacement(of: Secret(refused), entry: entry.name, to: caller, isAdmitted: true)
            return JSONObject()
        }
        let token = try release(at: permission, entry, "git", caller)
        var output = JSONObject()
        if Self.takesBearer(input) {
            output["capability[]"] = ["authtype"]
            output["authtype"] = "Bearer"
            output["credential"] = .string(token.accessToken.reveal())
            output["ephemeral"] = "1"
        } else {
            // Other programs than git have another usual name, or none.
            let usual = input["default_username"]?.string ?? Self.usualUsername
            output["username"] = .string(permission.username ?? usual)
            output["password"] = .string(token.accessToken.reveal())
        }
        if let end = token.expiresOn { output["password_expiry_utc"] = .string(String(end)) }
        return output
    }

    /// Whether git can send a bearer token, and the server accepts one.
    private static func takesBearer(_ input: JSONObject) -> Bool {
        let capabilities = input["capability[]"]?.array ?? []
        let challenges = (input["wwwauth[]"]?.array ?? []).compactMap(\.string)
        return capabilities.contains("authtype")
            && challenges.contains { $0.lowercased() == "bearer" || $0.lowercased().hasPrefix("bearer ") }
    }

    /// Answers docker (docker-credential-helpers, `get`).
    private func docker(
        _ input: JSONObject, _ entryName: String?, _ caller: Caller
    ) throws(BrokerFailure) -> JSONObject {
        guard let server = input["ServerURL"]?.string,
            let address = URI(server.contains("://") ? server : "https://" + server)
        else { throw BrokerFailure(.malformed) }
        let (entry, permission) = try permitted(HelperDestination(address), entryName, caller)
        let token = try release(at: permission, entry, "docker", caller)
        return JSONObject([
            "ServerURL": .string(server), "Username": .string(permission.username ?? Self.usualUsername),
            "Secret": .string(token.accessToken.reveal()),
        ])
    }

    /// Answers kubectl (client.authentication.k8s.io): the input is the object of `KUBERNETES_EXEC_INFO`. Without
    /// the cluster's server the entry alone decides, as the command does without `provideClusterInfo`.
    private func kubernetes(
        _ input: JSONObject, _ entryName: String?, _ caller: Caller
    ) throws(BrokerFailure) -> JSONObject {
        let version = input["apiVersion"]?.string ?? "client.authentication.k8s.io/v1"
        guard
            ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"].contains(version)
        else { throw BrokerFailure(.malformed) }
        let token: ReleasedToken
        if let server = input["spec"]?.object?["cluster"]?.object?["server"]?.string {
            guard let address = URI(server) else { throw BrokerFailure(.malformed) }
            let (entry, permission) = try permitted(HelperDestination(address), entryName, caller)
            token = try release(at: permission, entry, "kubernetes", caller)
        } else {
            var ask = TokenAsk(entry: entryName)
            ask.why = "kubernetes"
            token = try release(ask, to: caller, isAdmitted: true)
        }
        var status = JSONObject(["token": .string(token.accessToken.reveal())])
        if let end = token.expiresOn {
            status["expirationTimestamp"] = .string(Timestamp(epochSeconds: end).rfc3339)
        }
        return JSONObject([
            "apiVersion": .string(version), "kind": "ExecCredential", "status": .object(status),
        ])
    }

    /// Returns the credentials of an AWS role: the input has `role_arn`, which must be the configured one.
    private func aws(
        _ input: JSONObject, _ entryName: String?, _ caller: Caller
    ) throws(BrokerFailure) -> JSONObject {
        guard let role = input["role_arn"]?.string else { throw BrokerFailure(.malformed) }
        var name = entryName, accountID: String?
        do throws(BrokerFailure) {
            let entry = try entry(name: entryName, type: nil)
            name = entry.name
            let account = try account(entry)
            accountID = account.id
            // A role that a replaced file took away has no user.
            guard let own = configuration.clouds.aws, own.entry == entry.name, own.roleARN == role else {
                throw BrokerFailure.denied(.notInBroker)
            }
            var ask = TokenAsk(entry: entry.name)
            ask.why = "aws"
            ask.wantsIDToken = true
            let order = try order(ask, of: entry, account)
            try obtainConsent(ask, order, entry, account, caller)
            let issued = try issue(order, account, entry, ask, caller)
            // The token service gets no token that the caller could not have.
            _ = try checked(issued, entry, account, ask)
            let credentials: JSONObject
            do throws(CredentialError) {
                credentials = try account.roleCredentials(role, by: issued)
            } catch { throw BrokerFailure(error) }
            try checkLife(until: credentials["Expiration"]?.string.flatMap { Timestamp(rfc3339: $0) })
            try recordIssue(of: issued, entry, account, ask, caller)
            return credentials
        } catch {
            throw refused(error, name, nil, "aws", caller, account: accountID)
        }
    }

    /// Returns the entry whose token a server may have, after the host's check of the origin.
    private func permitted(
        _ place: HelperDestination, _ name: String?, _ caller: Caller
    ) throws(BrokerFailure) -> (BrokerEntry, HelperPermission) {
        do throws(BrokerFailure) {
            let candidates = entries().filter { entry in name.map { $0 == entry.name } ?? true }
            if candidates.isEmpty {
                throw BrokerFailure(
                    hasEnded ? .ended : .denied, reason: hasEnded ? nil : DenialReason.notInBroker.rawValue)
            }
            var found: [(BrokerEntry, HelperPermission)] = []
            for entry in candidates where entry.release != .proxyOnly {
                let permission: HelperPermission?
                do throws(CredentialError) {
                    permission = try parts.issuer.permission(for: entry, at: place)
                } catch {
                    if candidates.count == 1 { throw BrokerFailure(error) }
                    continue
                }
                guard let permission else { continue }
                let own = entry.origins.compactMap(BrokerOrigin.init)
                if !own.isEmpty {
                    guard let origin = BrokerOrigin(permission.origin), own.contains(origin) else { continue }
                }
                found.append((entry, permission))
            }
            guard let first = found.first else { throw BrokerFailure.denied(.origin) }
            guard found.count == 1 else { throw BrokerFailure(.ambiguous) }
            return first
        } catch {
            throw refused(
                error, name, "\(place.scheme)://\(UntrustedText.shown(place.authority, limit: 200))", nil, caller)
        }
    }

    private func release(
        at permission: HelperPermission, _ entry: BrokerEntry, _ why: String, _ caller: Caller
    ) throws(BrokerFailure) -> ReleasedToken {
        var ask = TokenAsk(entry: entry.name)
        ask.why = why
        // An entry without origins relies on the host's check alone.
        if !entry.origins.isEmpty { ask.origin = permission.origin }
        return try release(ask, to: caller, isAdmitted: true)
    }
}

extension HelperDestination {
    init(_ address: URI) {
        let host = address.host.contains(":") ? "[\(address.host)]" : address.host
        self.init(
            scheme: address.scheme, authority: host + (address.port.map { ":\($0)" } ?? ""), path: address.path)
    }
}
