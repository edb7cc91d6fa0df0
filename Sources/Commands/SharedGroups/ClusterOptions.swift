import CommandLine
import CredentialCore
import Platform
import StrictJSON

/// The options that say how a cluster is reached.
enum ClusterOption {
    static let etcd = Option.value(
        "etcd", .any("URLS"), "the endpoints of the cluster, separated by commas: https://HOST:2379,…")
    static let authorities = Option.value(
        "ca", .file, "the certificate authorities of the nodes, in PEM form")
    static let certificate = Option.value(
        "cert", .file, "this host's certificate, whose common name is its user in the cluster")
    static let key = Option.value("key", .file, "the private key of the certificate")
    static let prefix = Option.value(
        "prefix", .any("PREFIX"), "the prefix of the group's keys PREFIX/GROUP/ (default: /credmgr)")
    static let name = Option.value("name", .any("NAME"), "the name of this host (default: its host name)")
    static let hosts = Option.value(
        "hosts", .any("NAMES"), "the hosts to print commands for, separated by commas (default: this host)")
    static let passphraseFile = Option.value(
        "passphrase-file", .file, "a file with the group's passphrase; - for standard input")

    static let all: [any DeclaredOption] = [etcd, authorities, certificate, key, prefix, name]

    static let group = Parameter.required("shared-group", .any("GROUP", .group), "the group")
    static let host = Parameter.required("host", .any("HOST"), "the host, by its name in the group")
}

extension ClusterConfiguration {
    /// Takes the options.
    ///
    /// - Throws: ``ErrorCode/usage``; ``ErrorCode/configuration`` for a file that cannot be read.
    init(_ arguments: Arguments, keyStore: StoreKind, _ session: CommandSession) throws(CredentialError) {
        let endpoints = try Self.addresses(arguments).map(\.origin)
        let certificate = try Self.file(ClusterOption.certificate, arguments, session)
        let key = try Self.file(ClusterOption.key, arguments, session)
        guard (certificate == nil) == (key == nil) else {
            throw CredentialError(
                .usage, "--cert and --key are required together: there is no \(key == nil ? "--key" : "--cert")",
                hint: arguments.help)
        }
        self.init(
            endpoints: endpoints, authorities: try Self.file(ClusterOption.authorities, arguments, session),
            certificate: certificate.flatMap { file in
                key.map { ClientCertificate(certificateFile: file, keyFile: $0) }
            }, prefix: try Self.prefix(arguments), host: try Self.hostName(arguments), keyStore: keyStore)
    }

    /// The endpoints of the cluster.
    static func addresses(_ arguments: Arguments) throws(CredentialError) -> [URI] {
        guard let list = arguments[ClusterOption.etcd] else {
            throw CredentialError(
                .usage, "--etcd is required: it names the endpoints of the cluster", hint: arguments.help)
        }
        var addresses: [URI] = []
        for word in list.split(separator: ",") {
            guard let address = URI(String(word)), address.path.isEmpty || address.path == "/",
                address.isSecure
            else {
                throw CredentialError(
                    .usage, "'\(UntrustedText.shown(String(word), limit: 200))' is not a valid cluster endpoint",
                    hint: "use a value such as --etcd https://HOST:2379")
            }
            addresses.append(address)
        }
        guard !addresses.isEmpty else {
            throw CredentialError(.usage, "--etcd names no endpoint", hint: arguments.help)
        }
        return addresses
    }

    /// Returns the prefix of the group's keys.
    static func prefix(_ arguments: Arguments) throws(CredentialError) -> String {
        let prefix = arguments[ClusterOption.prefix] ?? standardPrefix
        guard prefix.hasPrefix("/"), prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CredentialError(
                .usage, "'\(UntrustedText.shown(prefix, limit: 80))' is not valid as a key prefix",
                hint: "use a value such as --prefix /credmgr")
        }
        return prefix
    }

    /// Returns the name of this host.
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
        _ name: String, _ isValid: (String) -> Bool = Identifier.isValid
    ) throws(CredentialError) -> String {
        guard isValid(name) else {
            throw CredentialError(
                .usage, "'\(UntrustedText.shown(name, limit: 80))' cannot be a host's name in a group",
                hint: "choose another host name with --name")
        }
        return name
    }

    /// The absolute path of a file that exists and is valid for its option. That a certificate and a key do not
    /// belong together the connection says.
    private static func file(
        _ option: Option<String?>, _ arguments: Arguments, _ session: CommandSession
    ) throws(CredentialError) -> String? {
        guard let path = arguments[option] else { return nil }
        let shown = UntrustedText.shown(path, limit: 4_096), written = option.spec.written
        let content: [UInt8]?
        do throws(CredentialError) {
            content = path.isEmpty ? nil : try session.context.programs.readFile(path)
        } catch {
            throw CredentialError(
                .configuration, "the file of \(written) cannot be read: \(error)",
                hint: error.advice ?? arguments.help)
        }
        guard let content else {
            throw CredentialError(.configuration, "file not found: \(shown) (\(written))", hint: arguments.help)
        }
        let marks = String(decoding: content, as: UTF8.self).split(whereSeparator: \.isNewline)
        func has(_ what: String) -> Bool {
            marks.contains { $0.hasPrefix("-----BEGIN ") && $0.contains(what) }
        }
        if option.spec.name != ClusterOption.key.spec.name {
            guard has("CERTIFICATE-----") else {
                throw CredentialError(
                    .configuration, "\(shown) (\(written)) has no certificate in PEM form", hint: arguments.help)
            }
        } else {
            guard has("PRIVATE KEY-----") else {
                throw CredentialError(
                    .configuration, "\(shown) (\(written)) has no private key in PEM form", hint: arguments.help)
            }
            guard !has("ENCRYPTED"),
                !marks.contains(where: { $0.hasPrefix("Proc-Type:") && $0.contains("ENCRYPTED") })
            else {
                let copy = ShellQuoting.line(["openssl", "pkey", "-in", path, "-out", path + ".plain"])
                throw CredentialError(
                    .configuration,
                    "cannot use the key \(shown) (\(written)): it has a passphrase",
                    hint: "to make a key without a passphrase for \(written): \(copy)")
            }
        }
        if path.hasPrefix("/") { return path }
        return (session.context.workingDirectories.first ?? "") + "/" + path
    }

    /// An error of a group that is not shared here yet: if the cluster cannot be reached, with the command that
    /// asks it by the same files.
    func explained(
        _ error: CredentialError, of group: KeychainGroup, _ session: CommandSession
    ) -> CredentialError {
        guard error.code == .temporary, error.hint == "credmgr doctor",
            (try? session.context.machine.sharing.isShared(group)) != true
        else { return error }
        var words = ["etcdctl", "--endpoints", endpoints.joined(separator: ",")]
        if let authorities { words += ["--cacert", authorities] }
        if let certificate { words += ["--cert", certificate.certificateFile, "--key", certificate.keyFile] }
        let health = ShellQuoting.line(words + ["endpoint", "health"])
        var explained = error
        explained.advice = "to check etcd and the connection to it: \(health)"
        return explained
    }
}

extension Arguments {
    /// The command that explains this one.
    fileprivate var help: LocalizedMessage { "credmgr \(command.name) --help" }
}

extension CommandSession {
    /// The group's passphrase from its file; `nil` without the option.
    func groupPassphrase(_ arguments: Arguments) throws(CredentialError) -> Secret? {
        try arguments[ClusterOption.passphraseFile].map { (path) throws(CredentialError) in
            try secret(from: path, what: "passphrase", option: "passphrase-file")
        }
    }

    /// Prints a host.
    func printHost(_ host: GroupMember, _ arguments: Arguments) throws(CredentialError) {
        if arguments.wantsJSON { return try print(.object(host.json)) }
        let group = host.groupFingerprint.map { "group fingerprint: \($0)\n" } ?? ""
        try print("host: \(host.name)\nfingerprint: \(host.fingerprint)\n\(group)")
    }
}
