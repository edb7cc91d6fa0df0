package import CredentialCore

/// The places at which a sign-in can be listened for.
package enum LoopbackRedirect {
    /// At the type's own redirect URI, or at localhost in place of the out-of-band one, from which no browser
    /// returns. It is `nil` if only the user, or the program that owns the scheme, can bring the response.
    ///
    /// - Parameter maySubstitute: whether the provider may be asked for another redirect URI than the type's own.
    package static func address(
        for plan: SignInPlan, maySubstitute: Bool, in context: AdapterContext
    ) -> URI? {
        guard let redirect = URI(plan.request.redirectURI) else { return nil }
        if isLoopback(redirect) { return redirect }
        guard RedirectURI.isOutOfBand(plan.request.redirectURI), maySubstitute else { return nil }
        let loopback = plan.adapter.defaultRedirectURI
        guard let address = URI(loopback), isLoopback(address), isTaken(address, loopback, plan, context)
        else { return nil }
        return address
    }

    /// Whether a sign-in listens at a redirect URI at whichever port is free.
    package static func hasFreePort(_ redirectURI: String) -> Bool {
        guard let redirect = URI(redirectURI) else { return false }
        return isLoopback(redirect) && redirect.port == nil
    }

    /// Whether this process can listen at a redirect URI.
    package static func isLoopback(_ redirect: URI) -> Bool {
        redirect.scheme == "http" && redirect.isLoopback
    }

    /// Whether the provider takes another redirect URI: asked for a sign-in without a person, it answers there.
    private static func isTaken(
        _ expected: URI, _ redirectURI: String, _ plan: SignInPlan, _ context: AdapterContext
    ) -> Bool {
        var question = plan.request
        question.redirectURI = redirectURI
        question.prompt = "none"
        do throws(CredentialError) {
            let step = try plan.adapter.begin(question, in: context)
            guard case .interaction(.openURL(let address, _), _) = step else { return false }
            let reply = try context.transport.send(HTTPRequest(address: address))
            let place = reply.value(of: "location")?.prefix { $0 != "?" && $0 != "#" }
            let isTaken = place.flatMap { URI(String($0)) }.map { RedirectURI.matches($0, expected) }
            return (300..<400).contains(reply.status) && isTaken == true
        } catch {
            context.note("the provider was not asked about \(redirectURI): \(error)")
            return false
        }
    }
}
