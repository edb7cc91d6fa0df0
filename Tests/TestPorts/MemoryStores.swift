import CredentialCore

/// The files of a machine in memory.
struct MemoryFiles: DefinitionStore {
    let machine: MemoryMachine

    func read(_ path: String) throws(CredentialError) -> DefinitionFile? {
        machine.state.withLock { $0.files[path] }
    }

    func names(in folder: String) throws(CredentialError) -> [String] {
        machine.state.withLock { state in
            state.files.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.count + 1)) }
                .filter { !$0.contains("/") }
        }
    }

    func write(_ bytes: [UInt8], to path: String) throws(CredentialError) {
        machine.state.withLock { $0.files[path] = DefinitionFile(bytes: bytes, isPrivate: true) }
    }

    func remove(_ path: String) throws(CredentialError) { machine.state.withLock { $0.files[path] = nil } }

    func isOfRoot(_ path: String) -> Bool { path.hasPrefix("/usr/") }
}

extension MemoryProcess: SecretStores {
    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore {
        MemoryStore(machine: machine, trace: trace, kind: kind)
    }

    func vault() throws(CredentialError) -> any TokenSetCipher { self }
}

/// A store in memory.
private struct MemoryStore: SecretStore {
    let machine: MemoryMachine
    let trace: PortTrace
    let kind: StoreKind

    private func call<Result>(
        _ name: String, _ body: () throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        try trace.call("\(kind.rawValue).\(name)") { () throws(CredentialError) in
            if let error = machine.state.withLock({ $0.broken[kind] }) { throw error }
            return try body()
        }
    }

    func protection(of group: KeychainGroup) throws(CredentialError) -> ProtectionSummary? { nil }

    func probe() throws(CredentialError) { try call("probe") { () throws(CredentialError) in } }

    func read(_ item: SecretItem) throws(CredentialError) -> [UInt8]? {
        try call("read") { () throws(CredentialError) in machine.item(item, in: kind) }
    }

    func write(_ secret: [UInt8], for item: SecretItem, label: String) throws(CredentialError) {
        try call("write") { () throws(CredentialError) in machine.set(secret, item, in: kind) }
    }

    func remove(_ item: SecretItem) throws(CredentialError) {
        try call("remove") { () throws(CredentialError) in machine.set(nil, item, in: kind) }
    }

    func setKey(_ key: StoreKey, of group: KeychainGroup) throws(CredentialError) {
        guard kind == .file else { throw CredentialError(.unsupported, "it has keys of its own") }
        try call("rekey") { () throws(CredentialError) in machine.replaceKey(of: group) }
    }

    func items(of group: KeychainGroup, kind wanted: SecretItem.Kind) throws(CredentialError) -> [SecretItem] {
        try call("items") { () throws(CredentialError) in
            machine.state.withLock { state in
                (state.items[kind] ?? [:]).keys.filter { $0.group == group && $0.kind == wanted }
                    .sorted { $0.owner < $1.owner }
            }
        }
    }
}
