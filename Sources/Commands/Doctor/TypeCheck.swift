import CredentialCore
import OAuth

/// The definitions of account types and, when the network may be asked, their endpoints and the clock difference
/// that those report.
struct TypeCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let entries: [AccountTypeCatalog.Entry]
        do throws(CredentialError) { entries = try session.catalog.entries() } catch {
            return [Diagnostic("types", error)]
        }
        var findings: [Diagnostic] = []
        var usable: [AccountType] = [], shown: [Diagnostic] = []
        for entry in entries {
            do throws(CredentialError) {
                let type = try entry.type.get()
                try session.context.adapters.adapter(of: type).check(type)
                usable.append(type)
                let settings = ConnectionSettings(of: type)
                if let summary = settings.summary { shown.append(Diagnostic("type \(entry.name)", .note, summary)) }
                try AuthorityFile(session).check(settings)
                _ = try session.context.machine.trust.connection(of: type)
            } catch {
                findings.append(Diagnostic("type \(entry.name)", error))
            }
            if let shadowed = entry.shadowed.first {
                findings.append(
                    Diagnostic("type \(entry.name)", .note, "\(entry.path) takes precedence over \(shadowed)"))
            }
        }
        if findings.isEmpty {
            findings.append(
                Diagnostic(
                    "types", .ok,
                    usable.isEmpty ? "no account type is defined" : "\(usable.count) defined, all usable")
            )
        }
        findings += shown
        guard isOnline else {
            return usable.isEmpty
                ? findings
                : findings + [
                    Diagnostic(
                        "endpoints", .note, "the providers and their clocks were not checked",
                        remedy: "credmgr doctor --online")
                ]
        }
        var seen: Set<String> = []
        let clocks = ClockWatch()
        for type in usable {
            let addresses = Self.addresses(of: type)
            if addresses.isEmpty {
                findings.append(Diagnostic("endpoint of \(type.name)", .note, "its definition names no endpoint"))
            }
            for address in addresses where seen.insert(address).inserted {
                findings.append(Self.ask(address, of: type, clocks, session))
            }
        }
        if let (message, isOwn) = clocks.finding {
            findings.append(
                Diagnostic(
                    "clock", isOwn ? .problem : .note, message,
                    remedy: isOwn ? "set the clock; token validation depends on it" : nil))
        }
        return findings
    }

    /// Returns the addresses of a type's provider, the most informative first.
    private static func addresses(of type: AccountType) -> [String] {
        if let issuer = type.issuer {
            return [
                (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
            ]
        }
        return [type.endpoints[.authorization], type.endpoints[.token], type.authority].compactMap(\.self)
    }

    private static func ask(
        _ address: String, of type: AccountType, _ clocks: ClockWatch, _ session: CommandSession
    ) -> Diagnostic {
        let check = "endpoint of \(type.name)"
        guard var url = URI(address) else {
            return Diagnostic(check, .problem, "\(UntrustedText.shown(address)) is not a URL")
        }
        // The user has not named the server of such a type.
        if type.issuerIsNamedByAPI {
            url = url.named(by: .api(host: type.apiBase.flatMap(URI.init)?.host ?? ""))
        }
        let response: HTTPResponse
        do throws(CredentialError) {
            var request = HTTPRequest(address: url, timeout: 5)
            request.connection = try session.context.machine.trust.connection(of: type)
            response = try session.context.transport.send(request)
        } catch {
            return Diagnostic(check, error)
        }
        clocks.note(response, from: url.origin, now: session.context.clock.now)
        let place = url.origin + url.path
        return response.status >= 500
            ? Diagnostic(
                check, .problem, "\(place) responded with status \(response.status)",
                remedy: "wait until the provider is available, and try again")
            : Diagnostic(check, .ok, "\(place) responds")
    }
}
