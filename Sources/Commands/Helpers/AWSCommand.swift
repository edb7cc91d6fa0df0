import CommandLine
import CredentialCore
import FastToken
import OAuth
import StrictJSON

/// `credmgr aws`: a `credential_process` of the AWS tools, by AssumeRoleWithWebIdentity.
struct AWSCommand: Command {
    static let spec = CommandSpec(
        ["aws"], "print credentials of an AWS role in the format of credential_process",
        details: """
            Sends the account's ID token, or with --access-token its access token, to AWS's token service in \
            exchange for credentials of the role. It caches the credentials until shortly before they expire. \
            AWS_ENDPOINT_URL_STS and AWS_ENDPOINT_URL name a different service, which the account type or a rule \
            of config.json must also name. AWS_REGION is the region of AWS's own service.
            """,
        options: [
            roleARN, sessionName, duration, region, accessToken, SharedOption.type, SharedOption.account,
            SharedOption.policy, SharedOption.scope, SharedOption.resource, SharedOption.audience,
        ],
        examples: [
            .init(
                "in ~/.aws/config",
                "credential_process = credmgr aws --type Work --role-arn arn:aws:iam::123456789012:role/build")
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    static let roleARN = Option.value("role-arn", .any("ARN"), "the role")
    private static let sessionName = Option.value(
        "role-session-name", .any("NAME"), "the name of the session in AWS's logs; default: the username")
    private static let duration = Option.integer(
        "duration-seconds", "SECONDS", in: 900...43_200, "the lifetime of the credentials; default: one hour")
    private static let region = Option.value("region", .any("REGION"), "the region of the token service")
    private static let accessToken = Option.flag("access-token", "send the access token, not the ID token")

    /// The AWS tools refresh credentials a quarter of an hour before their end, and ask again and again from then
    /// on.
    private static let margin: Int64 = 960

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        try session.print(try credentials(session) + "\n")
    }

    /// Returns the credentials as `credential_process` prints them.
    ///
    /// - Throws: ``ErrorCode/usage``; the errors of getting the token; the refusals of the token service.
    func credentials(_ session: CommandSession) throws(CredentialError) -> String {
        guard let role = arguments[Self.roleARN], !role.isEmpty else {
            throw CredentialError(
                .usage, "--role-arn is required: the role for the credentials",
                hint: "credmgr aws --help")
        }
        try Self.check(role: role)
        var query = TokenQuery(arguments, configuration: session.configuration)
        query.wantsIDToken = !arguments[Self.accessToken]
        let target = try TargetResolver(session).target(query.target)
        let endpoint = try endpoint(target, session)
        let key = TokenRequestKey(
            scope: query.scope, resource: query.resource, audience: query.audience,
            parameters: [
                "aws_endpoint": endpoint.description, "aws_role": role,
                "aws_session": arguments[Self.sessionName] ?? "",
                "aws_duration": arguments[Self.duration].map { String($0) } ?? "",
                "token": query.wantsIDToken ? "id" : "access", "policy": query.policy ?? "",
            ])
        let now = session.context.clock.now
        if let kept = session.cache.token(for: key, of: target.account.id, in: target.group),
            kept.expiresAt.seconds(since: now) > Self.margin
        {
            return kept.token.reveal()
        }
        let answer = try TokenAcquirer(session).token(query, target)
        TokenAcquirer(session).tell(answer)
        let token = try TokenOutput(answer, target, wantsIDToken: query.wantsIDToken).checkedToken()
        let credentials = try STSReply(try send(token, role, target, to: endpoint, session), place: endpoint.origin)
        keep(credentials, key, target, session)
        return credentials.text
    }

    /// Exchanges an ID token that a broker has issued; the broker's entry has chosen it. No credentials are cached.
    ///
    /// - Throws: ``ErrorCode/usage``, ``ErrorCode/denied``; the refusals of the token service.
    func credentials(
        of role: String, by idToken: Secret, _ target: Target, _ session: CommandSession
    ) throws(CredentialError) -> String {
        try Self.check(role: role)
        let endpoint = try endpoint(target, session)
        return try STSReply(
            try send(idToken.reveal(), role, target, to: endpoint, session), place: endpoint.origin
        ).text
    }

    /// Checks the name of a role; that of a server like AWS has another partition, perhaps no account.
    ///
    /// - Throws: ``ErrorCode/usage``.
    static func check(role: String) throws(CredentialError) {
        let parts = role.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "arn", !parts[1].isEmpty, parts[2] == "iam",
            parts[5].hasPrefix("role/"),
            parts[5] != "role/", parts[4].allSatisfy(\.isNumber)
        else {
            throw CredentialError(
                .usage,
                "--role-arn must be arn:aws:iam::ACCOUNT:role/NAME, not '\(UntrustedText.shown(role, limit: 80))'")
        }
    }

    /// Returns the destination of the token: AWS's own service, or a server that a rule or the type names.
    ///
    /// - Throws: ``ErrorCode/denied``, ``ErrorCode/usage``.
    private func endpoint(_ target: Target, _ session: CommandSession) throws(CredentialError) -> URI {
        func variable(_ name: String) -> String? { GlobalOptions.set(name, session.context.environment) }
        let region = arguments[Self.region] ?? variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION")
        let named = variable("AWS_ENDPOINT_URL_STS") ?? variable("AWS_ENDPOINT_URL")
        guard let text = named ?? KnownService.awsTokenServiceAddress(region: region) else {
            throw CredentialError(
                .usage, "'\(UntrustedText.shown(region ?? "", limit: 60))' is not an AWS region",
                hint: "use a region such as eu-central-1, or set AWS_ENDPOINT_URL_STS")
        }
        guard let address = URI(text), address.isWeb, let destination = Destination(address) else {
            throw CredentialError(.usage, "the endpoint of AWS's token service must be an https URL")
        }
        let authority = TargetResolver(session).authority
        if case .refused(let refusal) = authority.ruling(
            on: destination, type: target.type, account: target.account, for: .awsTokenService)
        {
            for miss in authority.nearMisses(of: destination) { session.notices.warning(miss) }
            throw CredentialError(.denied, refusal.text, hint: refusal.advice)
        }
        return address
    }

    private func send(
        _ token: String, _ role: String, _ target: Target, to endpoint: URI, _ session: CommandSession
    ) throws(CredentialError) -> HTTPResponse {
        let name = arguments[Self.sessionName] ?? Self.sessionName(of: target.account)
        var fields = [
            (name: "Action", value: "AssumeRoleWithWebIdentity"), (name: "Version", value: "2011-06-15"),
            (name: "RoleArn", value: role), (name: "RoleSessionName", value: name),
            (name: "WebIdentityToken", value: token),
        ]
        if let seconds = arguments[Self.duration] { fields.append(("DurationSeconds", String(seconds))) }
        var request = HTTPRequest(
            method: "POST", address: endpoint,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "text/xml")],
            body: .bytes(Array(FormURLEncoding.encode(fields).utf8)), timeout: session.options.timeout ?? 30)
        request.connection = try session.context.machine.trust.connection(of: target.type)
        var response = try session.context.transport.send(request)
        // An error may repeat the token.
        if response.status != 200 { response.body = SecretRemoval([token]).cleaned(response.body) }
        return response
    }

    /// Returns a session name that AWS accepts: 2 to 64 letters, digits and `=,.@-_`.
    private static func sessionName(of account: Account) -> String {
        let allowed = (account.username ?? account.id).unicodeScalars.map { scalar -> Character in
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            return isPlain || "=,.@-_".unicodeScalars.contains(scalar) ? Character(scalar) : "-"
        }
        let name = String(allowed.prefix(64))
        return name.utf8.count < 2 ? "credmgr" : name
    }

    /// Keeps them under the account's lock, so that a sign-out meanwhile leaves no copy behind.
    private func keep(_ credentials: STSReply, _ key: TokenRequestKey, _ target: Target, _ session: CommandSession)
    {
        guard let lock = try? session.context.locks.tryLock(target.account.id, in: target.group) else { return }
        defer { lock.release() }
        guard case .some(.some) = try? session.context.records.account(target.account.id, in: target.group) else {
            return
        }
        let now = session.context.clock.now
        session.cache.keep(
            AccessToken(
                key: key, token: Secret(credentials.text), tokenType: "AWS", issuedAt: now,
                expiresAt: credentials.expiresAt, scope: []),
            of: target.account.id, in: target.group, now: now)
    }
}

/// The answer of AssumeRoleWithWebIdentity.
struct STSReply: Sendable {
    /// The text that `credential_process` prints.
    let text: String
    /// When the credentials end.
    let expiresAt: Timestamp

    /// Reads an answer.
    ///
    /// - Throws: ``ErrorCode/denied`` if AWS refuses; ``ErrorCode/temporary``; ``ErrorCode/malformedReply``.
    init(_ response: HTTPResponse, place: String) throws(CredentialError) {
        let body = String(decoding: response.body, as: UTF8.self)
        guard response.status == 200 else {
            let said = Self.element("Message", in: body) ?? Self.element("Code", in: body) ?? "no reason"
            throw CredentialError(
                response.status >= 500 || response.status == 429 ? .temporary : .denied,
                "\(place) returned no credentials (HTTP status \(response.status)): "
                    + "\(UntrustedText.shown(said, limit: 300))"
            )
        }
        guard let key = Self.element("AccessKeyId", in: body),
            let secret = Self.element("SecretAccessKey", in: body),
            let token = Self.element("SessionToken", in: body), let end = Self.element("Expiration", in: body),
            let expiresAt = Timestamp(rfc3339: Self.wholeSeconds(end))
        else { throw CredentialError(.malformedReply, "the response of \(place) has no valid credentials") }
        var object = JSONObject()
        object["Version"] = 1
        object["AccessKeyId"] = .string(key)
        object["SecretAccessKey"] = .string(secret)
        object["SessionToken"] = .string(token)
        object["Expiration"] = .string(expiresAt.rfc3339)
        text = JSONValue.object(object).text()
        self.expiresAt = expiresAt
    }

    /// The time without a fraction of a second.
    private static func wholeSeconds(_ text: String) -> String {
        text.firstIndex(of: ".").map { text[..<$0] + "Z" } ?? text
    }

    /// The entities for characters that have another use in XML.
    private static let entities = [
        ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&"),
    ]

    /// The text of the first element of a name; the elements read here hold no others.
    private static func element(_ name: String, in xml: String) -> String? {
        let bytes = Array(xml.utf8)
        func place(of text: String, from start: Int) -> Int? {
            let query = Array(text.utf8)
            guard bytes.count >= query.count else { return nil }
            return (start..<max(start, bytes.count - query.count + 1)).first {
                bytes[$0..<($0 + query.count)].elementsEqual(query)
            }
        }
        guard let open = place(of: "<\(name)>", from: 0) else { return nil }
        let start = open + name.utf8.count + 2
        guard let end = place(of: "</\(name)>", from: start) else { return nil }
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        if text.isEmpty || text.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "<") }) { return nil }
        // The one for '&' is last: its result begins no other.
        return entities.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
}
