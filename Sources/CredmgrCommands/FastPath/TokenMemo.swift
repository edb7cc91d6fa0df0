import CredentialCore
import StrictJSON

/// What the last call with the same words found out: which account, and which entry of the token cache.
///
/// A memo spares the next call from reading the type's definition and the registry. It holds no token, and it is
/// believed only while every file that it was concluded from is unchanged.
struct TokenMemo: Sendable {
    /// The name of the cache's entry.
    let entry: String
    /// The group, for messages.
    let group: String
    /// The facts that the formats show.
    let account: (id: String, type: String, username: String?)
    /// The policy, empty where there is none.
    let policy: String
    /// `min_valid` of `config.json`.
    let minimumValidity: Int64?

    /// Reads the memo of a query; `nil` when there is none, or a file has changed since.
    static func read(_ name: String, _ place: FastPlace) -> TokenMemo? {
        guard let bytes = place.tokenCache.read(name), let object = try? JSONValue.parse(bytes).object,
            let files = object["files"]?.object,
            let entry = object["entry"]?.string, let group = object["group"]?.string,
            let id = object["account"]?.string, let type = object["type"]?.string
        else { return nil }
        for (path, state) in files.members
        where state.array?.compactMap(\.integer) != place.fileStates.state(of: path)?.numbers { return nil }
        return TokenMemo(
            entry: entry, group: group, account: (id, type, object["username"]?.string),
            policy: object["policy"]?.string ?? "", minimumValidity: object["min_valid"]?.integer)
    }

    /// Keeps a memo for an hour.
    static func write(_ name: String, _ memo: TokenMemo, files: [String], _ place: FastPlace) {
        var states = JSONObject()
        for path in files {
            states[path] =
                place.fileStates.state(of: path).map { .array($0.numbers.map(JSONValue.integer)) } ?? .null
        }
        var object = JSONObject()
        object["files"] = .object(states)
        object["entry"] = .string(memo.entry)
        object["group"] = .string(memo.group)
        object["account"] = .string(memo.account.id)
        object["type"] = .string(memo.account.type)
        object["username"] = memo.account.username.map(JSONValue.string)
        if !memo.policy.isEmpty { object["policy"] = .string(memo.policy) }
        object["min_valid"] = memo.minimumValidity.map(JSONValue.integer)
        place.tokenCache.write(JSONValue.object(object).bytes(), name: name, seconds: 3_600)
    }

    /// The memo's name: everything of the call that decides the answer.
    static func name(_ query: TokenQuery, group: String?, _ place: FastPlace) -> String? {
        // Not `joined`: the runtime would search all conformances for its generic code.
        var name = "\(place.dataHome)\nmemo"
        func add(_ part: String) {
            name += "\n"
            name += part
        }
        for folder in place.typeFolders { add(folder) }
        add(place.configurationFile)
        add(group ?? place.variable("CREDMGR_GROUP") ?? "")
        add(query.target.type ?? place.variable("CREDMGR_TYPE") ?? "")
        add(query.target.account ?? place.variable("CREDMGR_ACCOUNT") ?? "")
        add(query.policy ?? "")
        var scope = ""
        for word in query.scope { scope += scope.isEmpty ? word : " " + word }
        add(scope)
        add(query.resource ?? "")
        add(query.audience ?? "")
        // A kernel key's description holds 4,095 bytes.
        return name.utf8.count < 3_500 ? name : nil
    }
}
