import CommandLine
import CredentialCore
import Platform
import StrictJSON

/// The options that say how a cluster is reached.
enum ClusterOption {
    static let etcd = Option.value(
        "etcd", .any("URLS"), "the endpoints of the cluster, parted by commas: https://HOST:2379,…")
    static let authorities = Option.value(
        "ca", .file, "the certificate authorities of the nodes, in PEM form")
    static let certificate = Option.value(
        "cert", .file, "this host's certificate, whose common name is its user in the cluster")
    static let key = Option.value("key", .file, "the private key of the certificate")
    static let prefix = Option.value(
        "prefix", .any("PREFIX"), "what the group's keys begin with: PREFIX/GROUP/, by default /credmgr")
    static let name = Option.value("name", .any("NAME"), "what this host is called; by default its host name")
    static let hosts = Option.value(
        "hosts", .any("NAMES"), "the hosts to print commands for, parted by commas; by default this one")
    static let passphraseFile = Option.value(
        "passphrase-file", .file, "a file with the group's passphrase; - for standard input")

    static let all: [any DeclaredOption] = [etcd, authorities, certificate, key, prefix, name]

    static let group = Parameter.required("shared-group", .any("GROUP", .group), "the keychain group")
    static let host = Parameter.required("host", .any("HOST"), "the host, by its name in the group")
}

extension GroupBackend {
    /// Takes the options.
    ///
    /// - Throws: ``ErrorCode/usage``; ``ErrorCode/configuration`` for a file that cannot be read.
    init(_ arguments: Arguments, keyStore: StoreKind, _ session: Session) throws(CredentialError) {
        let endpoints = try Self.addresses(arguments).map(\.origin)
        let certificate = try Self.file(arguments[ClusterOption.certificate], "cert", session)
        let key = try Self.file(arguments[ClusterOption.key], "key", session)
        guard (certificate == nil) == (key == nil) else {
            throw CredentialError(.usage, "--cert and --key belong together")
        }
        self.init(
            endpoints: endpoints, authorities: try Self.file(arguments[ClusterOption.authorities], "ca", session),
            certificate: certificate.flatMap { file in
                key.map { ClientCertificate(certificateFile: file, keyFile: $0) }
            }, prefix: try Self.prefix(arguments), host: try Self.hostName(arguments), keyStore: keyStore)
    }

    /// The endpoints of the cluster.
    static func addresses(_ arguments: Arguments) throws(CredentialError) -> [WebAddress] {
        guard let list = arguments[ClusterOption.etcd] else {
            throw CredentialError(
                .usage, "--etcd is missing", hint: "--etcd https://HOST:2379 names the endpoints of the cluster")
        }
        var addresses: [WebAddress] = []
        for word in list.split(separator: ",") {
            guard let address = WebAddress(String(word)), address.path.isEmpty || address.path == "/",
                address.isSecure
            else {
                throw CredentialError(
                    .usage, "'\(ForeignText.shown(String(word), limit: 200))' is no endpoint of a cluster",
                    hint: "as --etcd https://HOST:2379")
            }
            addresses.append(address)
        }
        guard !addresses.isEmpty else { throw CredentialError(.usage, "--etcd names no endpoint") }
        return addresses
    }

    /// What the group's keys begin with.
    static func prefix(_ arguments: Arguments) throws(CredentialError) -> String {
        let prefix = arguments[ClusterOption.prefix] ?? standardPrefix
        guard prefix.hasPrefix("/"), prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CredentialError(
                .usage, "'\(ForeignText.shown(prefix, limit: 80))' cannot be what keys begin with",
                hint: "as --prefix /credmgr")
        }
        return prefix
    }

    /// What this host is called.
    static func hostName(_ arguments: Arguments) throws(CredentialError) -> String {
        try checked(arguments[ClusterOption.name] ?? SystemName.host)
    }

    /// The hosts that something is done for: those of `--hosts`, else this one.
    static func hostNames(
        _ arguments: Arguments, _ isValid: (String) -> Bool
    ) throws(CredentialError) -> [String] {
        guard let list = arguments[ClusterOption.hosts] else {
            return [try checked(arguments[ClusterOption.name] ?? SystemName.host, isValid)]
        }
        var names: [String] = []
        for word in list.split(separator: ",", omittingEmptySubsequences: false) {
            names.append(try checked(String(word), isValid))
        }
        return names
    }

    private static func checked(
        _ name: String, _ isValid: (String) -> Bool = Name.isValid
    ) throws(CredentialError) -> String {
        guard isValid(name) else {
            throw CredentialError(
                .usage, "'\(ForeignText.shown(name, limit: 80))' cannot be a host's name in a group",
                hint: "choose another with --name")
        }
        return name
    }

    /// The whole path of a file that is there.
    private static func file(
        _ path: String?, _ option: String, _ session: Session
    ) throws(CredentialError) -> String? {
        guard let path else { return nil }
        guard !path.isEmpty, try session.context.programs.readFile(path) != nil else {
            throw CredentialError(
                .configuration, "no file \(ForeignText.shown(path, limit: 4_096)) (--\(option))")
        }
        if path.hasPrefix("/") { return path }
        return (session.context.workingDirectories.first ?? "") + "/" + path
    }
}

extension Session {
    /// The group's passphrase from its file; `nil` without the option.
    func groupPassphrase(_ arguments: Arguments) throws(CredentialError) -> Secret? {
        try arguments[ClusterOption.passphraseFile].map { (path) throws(CredentialError) in
            try secret(from: path, what: "passphrase", option: "passphrase-file")
        }
    }

    /// Prints a host.
    func printHost(_ host: SharedHost, _ arguments: Arguments) throws(CredentialError) {
        if arguments.wantsJSON { return try print(.object(host.json)) }
        try print("host: \(host.name)\nfingerprint: \(host.fingerprint)\n")
    }
}
