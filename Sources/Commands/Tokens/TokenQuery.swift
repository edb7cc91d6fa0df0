import CommandLine
import CredentialCore
import FastToken

/// The options of a command that needs a token.
struct TokenQuery: Sendable {
    var target: TargetOptions
    var policy: String?
    var scope: [String]
    var resource: String?
    var audience: String?
    var freshness: Freshness
    var forceRefresh: Bool
    var wantsIDToken: Bool
    var takesOver = false
    /// The broker that has the token for itself (`own_token`).
    var owner: String?

    /// A query without options.
    init() {
        target = TargetOptions()
        scope = []
        freshness = Freshness()
        forceRefresh = false
        wantsIDToken = false
    }

    /// Takes those of the options that the command lists.
    init(_ arguments: Arguments, configuration: Configuration?) {
        target = TargetOptions(arguments)
        policy = arguments[ifListed: SharedOption.policy]
        scope = arguments[ifListed: SharedOption.scope]
        resource = arguments[ifListed: SharedOption.resource]
        audience = arguments[ifListed: SharedOption.audience]
        freshness = Freshness(
            demanded: arguments[ifListed: SharedOption.minValid], configured: configuration?.minimumValidity)
        forceRefresh = arguments[ifListed: SharedOption.forceRefresh]
        wantsIDToken = arguments[ifListed: SharedOption.idToken]
    }

    /// The demand that the token has to meet.
    var demand: TokenDemand {
        var demand = TokenDemand(
            policy: policy, scope: scope, resource: resource, audience: audience, freshness: freshness,
            forceRefresh: forceRefresh)
        demand.takesOver = takesOver
        return demand
    }

    /// The words of this that decide which token is meant.
    ///
    /// - Parameters:
    ///   - group: the one asked for.
    ///   - asker: who asks.
    func words(in group: KeychainGroup?, of asker: CallSignature.Caller = .caller) -> CallSignature {
        CallSignature(
            group: group?.name, type: target.type, account: target.account, policy: policy, scope: scope,
            resource: resource, audience: audience, asker: asker)
    }
}
