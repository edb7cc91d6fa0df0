import CommandLine
package import CredentialCore

/// The accounts as `accounts` lists them: grouped by type, `*` in front of the default of a type.
package struct AccountTable: Sendable {
    private let accounts: [AccountPresentation]
    private let shortIDs: @Sendable () -> ShortIDs
    private let now: Timestamp

    /// How a terminal shows the list.
    package struct Form: Sendable {
        /// The columns of the terminal.
        package var width: Int
        /// Whether the status is coloured.
        package var hasColour = false
        /// Whether every column is shown, with whole IDs.
        package var isWide = false
        /// Whether each account is a few lines of its own, as for a screen reader.
        package var isList = false

        /// Makes a form.
        package init(width: Int, hasColour: Bool = false, isWide: Bool = false, isList: Bool = false) {
            self.width = width
            self.hasColour = hasColour
            self.isWide = isWide
            self.isList = isList
        }
    }

    private enum Column: CaseIterable {
        case mark, name, type, group, status, expires, isDefault, store, id

        var title: LocalizedMessage {
            switch self {
            case .mark: ""
            case .name: "NAME"
            case .type: "TYPE"
            case .group: "GROUP"
            case .status: "STATUS"
            case .expires: "EXPIRES"
            case .isDefault: "DEFAULT"
            case .store: "STORE"
            case .id: "ID"
            }
        }
    }

    /// Makes the list.
    ///
    /// - Parameters:
    ///   - accounts: the accounts, in any order.
    ///   - shortIDs: the beginnings of IDs that a terminal shows; programs get whole ones.
    ///   - now: the current time, for the texts about ends.
    package init(
        _ accounts: [AccountPresentation], shortIDs: @autoclosure @escaping @Sendable () -> ShortIDs, now: Timestamp
    ) {
        // Types stay in the order of their first accounts.
        var order: [String: Int] = [:]
        for account in accounts where order[account.account.type] == nil {
            order[account.account.type] = order.count
        }
        self.accounts = accounts.enumerated().sorted {
            (order[$0.element.account.type] ?? 0, $0.offset) < (order[$1.element.account.type] ?? 0, $1.offset)
        }.map(\.element)
        self.shortIDs = shortIDs
        self.now = now
    }

    /// The table that programs read: every column, and whole IDs.
    package var whole: Table { table(of: Column.allCases.filter { $0 != .isDefault }, hasWholeIDs: true) }

    /// The list as a terminal shows it; no name and no status is ever cut.
    ///
    /// - Parameters:
    ///   - form: how it is shown.
    ///   - translations: the reader's language.
    package func text(_ form: Form, in translations: any Translations = NoTranslations()) -> String {
        let hasGroups = form.isWide || Set(accounts.map(\.group)).count > 1
        let hasStores = form.isWide || Set(accounts.map(\.account.store)).count > 1
        let columns = Column.allCases.filter { column in
            switch column {
            case .group: hasGroups
            case .store: hasStores
            default: true
            }
        }
        if !form.isList,
            let text = table(of: columns.filter { $0 != .isDefault }, hasWholeIDs: form.isWide)
                .aligned(width: form.width, in: translations, hasColour: form.hasColour)
        {
            guard accounts.contains(where: \.isDefault) else { return text }
            let legend: LocalizedMessage = "* is the default of its type"
            return text + "\n" + legend.text(in: translations) + "\n"
        }
        return table(of: columns.filter { $0 != .mark }, hasWholeIDs: form.isWide)
            .list(width: form.width, in: translations, hasColour: form.hasColour)
    }

    private func table(of columns: [Column], hasWholeIDs: Bool) -> Table {
        let shortIDs = hasWholeIDs ? nil : shortIDs()
        var table = Table(
            columns.map(\.title), whole: Set(columns.filter { !isCuttable($0) }.map(\.title)),
            coloured: Column.status.title)
        for account in accounts {
            table.add(
                columns.map { cell($0, of: account, shortIDs) },
                colour: account.statusColour(now: now))
        }
        return table
    }

    /// Whether a cell that is cut is still of use; that a type is missing has to be seen.
    private func isCuttable(_ column: Column) -> Bool {
        column == .group || column == .type && !accounts.contains(where: \.isTypeMissing)
    }

    private func cell(_ column: Column, of presentation: AccountPresentation, _ shortIDs: ShortIDs?)
        -> LocalizedMessage
    {
        let account = presentation.account
        return switch column {
        case .mark: presentation.isDefault ? "*" : ""
        case .name: LocalizedMessage(verbatim: presentation.name)
        case .type:
            presentation.isTypeMissing ? "\(account.type) (type missing)" : LocalizedMessage(verbatim: account.type)
        case .group: LocalizedMessage(verbatim: presentation.group.name)
        case .status: LocalizedMessage(verbatim: presentation.status.word)
        case .expires: presentation.tokenEnd(now: now)
        case .isDefault: presentation.isDefault ? "yes" : ""
        case .store: LocalizedMessage(verbatim: account.store.rawValue)
        case .id: LocalizedMessage(verbatim: shortIDs?[account.id] ?? account.id)
        }
    }
}

extension AccountPresentation {
    /// The colour of the status, which the word says, too: red if the account has to sign in, yellow if it ends
    /// soon, else green.
    func statusColour(now: Timestamp) -> Int {
        guard case .active = account.status else { return 31 }
        return account.endsSoon(now: now) || account.endsWithToken ? 33 : 32
    }
}
