import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr status`.
struct StatusCommand: Command {
    static let spec = CommandSpec(
        ["status"], "show the account in use here and its problems",
        details: """
            Shows the account that 'token' would use here and the rule that chose it, its provider and store, the \
            end of its grant, its problems, and the commands that fix them. It sends no request to a provider. The \
            exit status is that of the worst problem.
            """,
        options: [all, SharedOption.type, SharedOption.account, SharedOption.json], exitStatuses: [3, 4, 5, 6])

    static let all = Option.flag("all", "show every account")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let report = StatusReport(session)
        let statuses: [AccountStatus]
        if arguments[Self.all] {
            guard arguments[SharedOption.account] == nil else {
                throw CredentialError(.usage, "--all excludes --account")
            }
            statuses = try report.all(ofType: arguments[SharedOption.type])
        } else {
            statuses = [try report.chosen(TargetOptions(arguments))]
        }
        if arguments.wantsJSON {
            let list = statuses.map(\.json)
            try session.print(arguments[Self.all] ? .array(list) : list[0])
        } else if statuses.isEmpty {
            // An account that cannot be read is signed in.
            if report.leftOut.isEmpty { session.notices.note("no account is signed in") }
        } else {
            try session.print(statuses.map { session.shown($0.facts) }.joined(separator: "\n"))
        }
        let problems = statuses.compactMap(\.problem) + report.leftOut
        guard var worst = problems.max(by: { $0.severity < $1.severity }) else { return }
        worst.isInResult = true
        throw worst
    }
}

/// Finds out the status of accounts; each store is asked no more once it has not answered.
final class StatusReport {
    private let session: CommandSession
    private let resolver: TargetResolver
    private let services: AccountServices
    private var storeFaults: [StoreKind: CredentialError] = [:]
    /// The errors of the accounts that cannot be listed.
    private(set) var leftOut: [CredentialError] = []

    init(_ session: CommandSession) {
        self.session = session
        resolver = TargetResolver(session)
        services = session.services(session.stores(mayPrompt: false))
    }

    /// The account that `token` would take.
    ///
    /// - Throws: as ``TargetResolver/target(_:)``.
    func chosen(_ options: TargetOptions) throws(CredentialError) -> AccountStatus {
        let target = try resolver.target(options)
        let index = try session.context.records.index(of: target.group, .none)
        return status(
            of: target.account, in: target.group, choice: choice(target, options),
            isDefault: DefaultAccounts.contain(target.account, index), type: .success(target.type))
    }

    /// Every account, or those that a type sees.
    ///
    /// - Throws: as ``CommandSession/registries(of:leftOut:)``.
    func all(ofType name: String?) throws(CredentialError) -> [AccountStatus] {
        let type = try name.map { (name) throws(CredentialError) in try resolver.type(named: name) }
        let registration = try type.map { (type) throws(CredentialError) in try resolver.registration(of: type) }
        let options = TargetOptions(type: name)
        let target = try targetIfAny(options)
        var statuses: [AccountStatus] = []
        for (group, registry, isWhole) in try session.registries(
            of: type,
            leftOut: {
                leftOut.append($1)
                session.notices.warning($1.text)
            })
        {
            let defaults = DefaultAccounts(registry, isWhole: isWhole)
            for account in registry.accounts where registration == nil || account.registration == registration {
                let isTarget = target?.account.id == account.id && target?.group == group
                statuses.append(
                    status(
                        of: account, in: group, choice: isTarget ? target.map { choice($0, options) } : nil,
                        isDefault: defaults.contains(account), type: definition(of: account)))
            }
        }
        return statuses
    }

    /// The account that `token` would use; no account, or several without a default, is no fault of a list.
    private func targetIfAny(_ options: TargetOptions) throws(CredentialError) -> Target? {
        do throws(CredentialError) { return try resolver.target(options) } catch {
            guard error.code != .noSuchAccount, error.code != .ambiguousAccount else { return nil }
            session.notices.warning(error)
            return nil
        }
    }

    private func definition(of account: Account) -> Result<AccountType, CredentialError> {
        do throws(CredentialError) { return .success(try resolver.type(named: account.type)) } catch {
            return .failure(error)
        }
    }

    private func choice(_ target: Target, _ options: TargetOptions) -> AccountStatus.Choice {
        AccountStatus.Choice(
            type: target.type, rule: target.rule, place: resolver.place(of: target, options))
    }

    private func status(
        of account: Account, in group: KeychainGroup, choice: AccountStatus.Choice?, isDefault: Bool,
        type: Result<AccountType, CredentialError>
    ) -> AccountStatus {
        var account = account
        if session.undecryptable(in: group).contains(account.id) { account.noteUndecryptable() }
        return AccountStatus(
            account, in: group, choice: choice, isDefault: isDefault, type: type, set: set(of: account, in: group),
            now: session.context.clock.now)
    }

    private func set(of account: Account, in group: KeychainGroup) -> Result<TokenSet?, CredentialError> {
        if let fault = storeFaults[account.store] { return .failure(fault) }
        do throws(CredentialError) {
            return .success(try services.repository.read(account, in: group, isLocked: false))
        } catch {
            // A locked or missing keyring says the same of each account; a damaged item is that of one account.
            if account.store == .secretService, error.code != .storeDamaged { storeFaults[account.store] = error }
            return .failure(error)
        }
    }
}
