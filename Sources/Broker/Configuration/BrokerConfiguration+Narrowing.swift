import CredentialCore

extension BrokerConfiguration {
    /// Returns this configuration within the bounds of a file that has replaced its own.
    ///
    /// A running server applies the stricter settings of the newer file. The rest of the newer file applies at the
    /// next start.
    ///
    /// - Parameter defaults: returns the values of an account type, which apply if an entry has no list of its own.
    public func narrowed(
        to newer: BrokerConfiguration, defaults: (String) -> TypeDefaults
    ) -> BrokerConfiguration {
        var result = self
        result.entries = entries.compactMap { entry in
            newer.entries.first { $0.name == entry.name }.flatMap { entry.narrowed(to: $0, defaults: defaults) }
        }
        result.speak = speak.filter(newer.speak.contains)
        if newer.ask.rank > ask.rank { result.ask = newer.ask }
        result.askBy = askBy.filter(newer.askBy.contains)
        result.remember = min(remember, newer.remember)
        result.promptTimeout = min(promptTimeout, newer.promptTimeout)
        result.until = Self.earlier(until, newer.until)
        result.lifetime = Self.earlier(lifetime, newer.lifetime)
        result.idle = newer.idle
        if !newer.callers.contains(.any) {
            result.callers = callers.contains(.any) ? newer.callers : callers.filter(newer.callers.contains)
        }
        result.tokenLifeAtMost = Self.earlier(tokenLifeAtMost, newer.tokenLifeAtMost)
        result.connections = min(connections, newer.connections)
        result.perMinute = min(perMinute, newer.perMinute)
        if newer.clouds.gce != clouds.gce { result.clouds.gce = nil }
        if newer.clouds.azure != clouds.azure { result.clouds.azure = nil }
        if newer.clouds.aws != clouds.aws { result.clouds.aws = nil }
        if newer.clouds.actions != clouds.actions { result.clouds.actions = nil }
        result.isAnonymous = isAnonymous || newer.isAnonymous
        result.audit.paths = audit.paths && newer.audit.paths
        result.audit.continuesOnFailure = audit.continuesOnFailure && newer.audit.continuesOnFailure
        return result
    }

    private static func earlier<Value: Comparable>(_ left: Value?, _ right: Value?) -> Value? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }
}
