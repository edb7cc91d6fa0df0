package import CredentialCore
import OAuth
import StrictJSON

/// The requirements on every adapter, built in or external, seen through the protocol of adapters.
///
/// The provider need not answer: checks that need it are skipped then. No user is asked for anything.
package struct AdapterConformance: Sendable {
    /// The adapter.
    let adapter: any CredentialAdapter
    /// A type of it.
    let type: AccountType
    /// The flow that is begun.
    let flow: SignInFlow
    /// The machine.
    let context: AdapterContext

    /// Prepares the checks of an adapter with a type of it.
    package init(
        _ adapter: any CredentialAdapter, type: AccountType, flow: SignInFlow? = nil, context: AdapterContext
    ) {
        self.adapter = adapter
        self.type = type
        self.flow = flow ?? type.flow ?? .code
        self.context = context
    }

    /// The checks, in order.
    package static let checks: [ConformanceCheck<AdapterConformance>] = [
        .init("names", "name, summary and default redirect URI are well-formed") { $0.names() },
        .init("definition", "the type is accepted, and its provider is the same each time") {
            (subject) throws(CredentialError) in try subject.definition()
        },
        .init("policy", "a policy that the type does not have is refused as bad usage") { $0.unknownPolicy() },
        .init("scope", "scopes keep their order, come once, and stay so when asked again") { $0.scopes() },
        .init("begin", "a sign-in begins with a well-formed step, with a new state each time") {
            (subject) throws(CredentialError) in try subject.begin()
        },
        .init("pending", "a sign-in does not go on with pending data that is not its own") { $0.damagedPending() },
        .init("state", "a redirect with another state is refused") {
            (subject) throws(CredentialError) in try subject.foreignState()
        },
        .init("denial", "a refusal at the provider is reported as one") {
            (subject) throws(CredentialError) in try subject.denial()
        },
        .init("refresh", "a grant that cannot be refreshed is not refreshed") { $0.emptyRefresh() },
        .init("revoke", "revoking a grant without tokens fails properly or does nothing") { $0.emptyRevoke() },
    ]

    /// Runs every check.
    package func run() -> [ConformanceResult] { Self.checks.map { $0.run(self) } }

    // MARK: Without the provider

    private func names() -> ConformanceResult.Verdict {
        if !Identifier.isValid(adapter.name) { return .failed("the name breaks the rule for names") }
        let summary = adapter.summary
        if summary.isEmpty || summary.count > 200 || summary != UntrustedText.shown(summary) {
            return .failed("the summary is no line of text")
        }
        if let problem = DefinitionValidation.redirectURI(adapter.defaultRedirectURI) {
            return .failed("the default redirect URI \(problem)")
        }
        return .passed
    }

    private func definition() throws(CredentialError) -> ConformanceResult.Verdict {
        try adapter.check(type)
        let provider = try adapter.provider(of: type)
        if provider.isEmpty { return .failed("the provider has no name") }
        return try adapter.provider(of: type) == provider ? .passed : .failed("the provider changes")
    }

    private func unknownPolicy() -> ConformanceResult.Verdict {
        do throws(CredentialError) {
            let policy = try adapter.policy("conformance-no-such-policy", of: type)
            return .failed("it was taken for '\(UntrustedText.shown(policy))'")
        } catch {
            return error.code == .usage ? .passed : .failed("it failed with \(error.code.rawValue)")
        }
    }

    private func scopes() -> ConformanceResult.Verdict {
        let asked = ["z.last", "a.first", "z.last"]
        let effective = adapter.effectiveScope(asked, of: type)
        guard effective.filter({ $0 == "z.last" }).count == 1,
            let last = effective.firstIndex(of: "z.last"), let first = effective.firstIndex(of: "a.first"),
            last < first
        else { return .failed("the scopes asked for are not among those sent, in order") }
        return adapter.effectiveScope(effective, of: type) == effective ? .passed : .failed("they change")
    }

    // MARK: Sign-in

    private var request: SignInRequest {
        get throws(CredentialError) {
            SignInRequest(
                type: type, flow: flow, policy: try adapter.policy(nil, of: type), scope: type.scope,
                redirectURI: type.redirectURI ?? adapter.defaultRedirectURI)
        }
    }

    /// The result of a begin, or the reason why there is no result to check.
    private enum BeginResult {
        case step(SignInStep)
        case nothing(String)
    }

    private func tryToBegin() throws(CredentialError) -> BeginResult {
        let request = try request
        do throws(CredentialError) {
            return .step(try adapter.begin(request, in: context))
        } catch {
            switch error.code {
            case .malformedReply, .validationFailed, .internalFault: throw error
            default: return .nothing("begin fails: \(error)")
            }
        }
    }

    private func begin() throws(CredentialError) -> ConformanceResult.Verdict {
        switch try tryToBegin() {
        case .nothing(let reason): return .skipped(reason)
        case .step(.done(let result)):
            return result.identity.subject.isEmpty ? .failed("nobody signed in") : .passed
        case .step(.interaction(.openURL(let address, let state), let pending)):
            if pending.isEmpty { return .failed("nothing is pending") }
            if !address.isSecure { return .failed("the URL is not https") }
            guard
                (FormURLEncoding.decode(address.query ?? "") ?? []).contains(where: {
                    $0.name == "state" && $0.value == state
                })
            else { return .failed("the URL does not carry the state") }
            guard case .step(.interaction(.openURL(_, let second), _)) = try tryToBegin() else {
                return .failed("a second begin is another kind of step")
            }
            return second == state ? .failed("two sign-ins have one state") : .passed
        case .step(.interaction(_, let pending)): return pending.isEmpty ? .failed("nothing is pending") : .passed
        }
    }

    private func damagedPending() -> ConformanceResult.Verdict {
        mustFail("it went on") { () throws(CredentialError) in
            _ = try adapter.resume(
                try request, pending: JSONObject(["conformance": "not its own"]),
                with: .text(Secret("conformance")),
                in: context)
        }
    }

    private func foreignState() throws(CredentialError) -> ConformanceResult.Verdict {
        try answering { redirect, _ in "\(redirect)?code=conformance&state=conformance-of-somebody-else" }
    }

    private func denial() throws(CredentialError) -> ConformanceResult.Verdict {
        try answering(expecting: [.denied, .cancelled]) { redirect, state in
            "\(redirect)?error=access_denied&state=\(state)"
        }
    }

    /// Answers a sign-in at the browser with a redirect, which must be refused.
    private func answering(
        expecting codes: Set<ErrorCode> = [], _ redirected: (String, String) -> String
    ) throws(CredentialError) -> ConformanceResult.Verdict {
        let begun = try tryToBegin()
        if case .nothing(let reason) = begun { return .skipped(reason) }
        guard case .step(.interaction(.openURL(_, let state), let pending)) = begun else {
            return .skipped("it opens no URL")
        }
        let request = try request
        return mustFail("it went on", codes: codes) { () throws(CredentialError) in
            _ = try adapter.resume(
                request, pending: pending, with: .redirect(redirected(request.redirectURI, state)), in: context)
        }
    }

    // MARK: Grants

    private func emptyRefresh() -> ConformanceResult.Verdict {
        mustFail("it gave tokens for nothing") { () throws(CredentialError) in
            let request = RefreshRequest(
                type: type, key: TokenRequestKey(policy: try adapter.policy(nil, of: type), scope: type.scope),
                scope: type.scope, grant: Grant(flow: .code, obtainedAt: context.clock.now), subject: "conformance")
            _ = try adapter.refresh(request, in: context)
        }
    }

    private func emptyRevoke() -> ConformanceResult.Verdict {
        do throws(CredentialError) {
            try adapter.revoke(Grant(flow: .code, obtainedAt: context.clock.now), of: type, in: context)
            return .passed
        } catch {
            return Self.isProtocolFault(error) ? .failed(error.message) : .passed
        }
    }

    /// Passes when `body` fails, and with one of `codes` if there are any, but not by breaking the protocol.
    private func mustFail(
        _ otherwise: String, codes: Set<ErrorCode> = [], _ body: () throws(CredentialError) -> Void
    ) -> ConformanceResult.Verdict {
        do throws(CredentialError) {
            try body()
            return .failed(otherwise)
        } catch {
            if Self.isProtocolFault(error) { return .failed(error.message) }
            if !codes.isEmpty, !codes.contains(error.code) {
                return .failed("it failed with \(error.code.rawValue)")
            }
            return .passed
        }
    }

    private static func isProtocolFault(_ error: CredentialError) -> Bool {
        error.code == .malformedReply || error.code == .internalFault || error.code == .usage
    }
}
