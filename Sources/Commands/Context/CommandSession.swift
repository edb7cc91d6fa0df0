package import CredentialCore
import FastToken
import OAuth

/// One call of the program: the context, the options of every command, and the services built from both.
package struct CommandSession: Sendable {
    /// The outside.
    package let context: CommandContext
    /// The options of every command.
    package let options: GlobalOptions
    /// When the call began, as files show time.
    let began: Int64
    /// `config.json`; an empty configuration if the file cannot be read.
    package let configuration: Configuration
    /// Why `config.json` cannot be read.
    package let configurationFault: CredentialError?
    /// Notes, warnings and errors.
    package private(set) var notices: Notices

    /// Takes a fact for `--verbose`.
    private let detail: @Sendable (String) -> Void

    /// Reads the configuration and prepares the call.
    ///
    /// - Parameter detail: receives facts for `--verbose` if they do not go to standard error.
    package init(
        context: CommandContext, options: GlobalOptions, notices: Notices,
        detail: (@Sendable (String) -> Void)? = nil
    ) {
        var context = context
        self.detail = detail ?? { notices.detail($0) }
        context.machine.transport = LoggingTransport(
            base: context.machine.transport, waiting: notices.waiting,
            tell: detail ?? (options.isVerbose ? self.detail : nil))
        self.context = context
        began = context.fileStates.time
        self.options = options
        self.notices = notices
        do throws(CredentialError) {
            // At a broker's socket the host's configuration applies.
            configuration =
                BrokerClient.path { context.environment[$0] } == nil
                ? try context.machine.configuration() : Configuration()
            configurationFault = nil
        } catch {
            configuration = Configuration()
            configurationFault = error
        }
    }

    /// The same call without notes; warnings stay.
    var quieted: CommandSession {
        var copy = self
        copy.notices = Notices(
            console: context.console, environment: context.environment, isQuiet: true, isVerbose: options.isVerbose)
        return copy
    }

    /// The group for uses without a type: by option or environment, else as `default_group`; `nil` if no group is
    /// named.
    package var namedGroup: KeychainGroup? { options.group ?? configuration.defaultGroup }

    /// The groups to look at: the one asked for, else all that have accounts.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func groups() throws(CredentialError) -> [KeychainGroup] {
        if let group = options.group { return [group] }
        return try context.records.groups()
    }

    /// The definitions of types.
    package var catalog: AccountTypeCatalog { context.machine.catalog }

    /// The command that signs in if no type is named, for hints: under the only type, or the first of several.
    ///
    /// - Parameter names: the types that can be meant; all for `nil`.
    func loginHint(among names: [String]? = nil) -> LocalizedMessage {
        let entries = ((try? catalog.entries()) ?? []).filter { names?.contains($0.name) ?? true }
        let own = entries.map { ($0.name, group: (try? $0.type.get())?.keychainGroup) }
        // A sign-in has to be in the group in which credmgr looks for it.
        let wanted = namedGroup.flatMap { group in own.first { $0.group == group } }
        guard let (name, group) = wanted ?? own.first else {
            return "define an account type first: credmgr types add --help"
        }
        return LoginHint(type: name, group: namedGroup == group ? nil : namedGroup).hint
    }

    /// Whether a person can be asked.
    package var mayAsk: Bool { !options.noInput && context.console.hasPerson }

    /// The token cache, or an empty one that stores no token if the user has disabled it.
    package var cache: TokenCache { AccountServices.cache(of: context.machine, configuration) }

    /// Whether access tokens may be kept in memory.
    package var isCaching: Bool { AccountServices.isCaching(context.machine, configuration) }

    /// Returns the operations on accounts, on stores that are open already.
    package func services(_ stores: any SecretStores) -> AccountServices {
        AccountServices(context.machine, policy(), configuration, stores: stores)
    }

    /// The stores.
    ///
    /// - Parameters:
    ///   - mayPrompt: whether the desktop or the terminal may ask the user to unlock, if a user is present.
    ///   - whileWaiting: called when a store waits for another program's answer; it must not block.
    package func stores(
        mayPrompt: Bool = true, whileWaiting: @escaping @Sendable () -> Void = {}
    ) -> any SecretStores {
        var policy = policy(mayPrompt: mayPrompt)
        policy.whileWaiting = whileWaiting
        return AccountServices(context.machine, policy, configuration).stores
    }

    /// The desk that defines account types from the responses of a provider or an API.
    var definitions: DefinitionContext {
        let stores = stores()
        return DefinitionContext(
            accounts: services(stores), redirects: context.redirects, group: options.group,
            store: { () throws(CredentialError) in try StoreChoice(self, stores) },
            warn: { [notices] in notices.warning($0) },
            note: { [notices] in notices.note($0) }, detail: { [notices] in notices.detail($0) })
    }

    /// Returns the settings that a command adds to the machine.
    private func policy(mayPrompt: Bool = false) -> AccountPolicy {
        var policy = AccountPolicy(
            promptSeconds: options.timeout ?? Self.promptSeconds, lockWait: options.timeout,
            timeout: options.timeout, refreshes: .worker, warn: { [notices] in notices.warning($0) },
            note: detail, waiting: notices.waiting)
        policy.vouch = { (provider, type, request) throws(CredentialError) in
            let resolver = TargetResolver(self), idp = try resolver.type(named: provider)
            try IdentityAssertionProvider.check(idp, for: type)
            let target = try resolver.target(ofType: idp, TargetOptions(type: provider))
            return try IdentityAssertionProvider(services(stores(mayPrompt: false))).assertion(
                by: target.account, in: target.group, (idp, context.adapters.adapter(of: idp)), request)
        }
        guard mayPrompt, !options.noInput else { return policy }
        let hasDisplay = context.environment["DISPLAY"] != nil || context.environment["WAYLAND_DISPLAY"] != nil
        policy.mayPrompt = context.console.hasPerson || hasDisplay
        if context.console.hasPerson {
            policy.ask = { [console = context.console] prompt throws(CredentialError) in
                try console.ask(prompt, isSecret: true)
            }
            policy.unseen = { [console = context.console] work throws(CredentialError) in try console.unseen(work) }
        }
        return policy
    }

    /// How long a person has to answer the desktop's question, in seconds.
    private static let promptSeconds = 120
}
