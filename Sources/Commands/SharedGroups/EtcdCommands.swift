import CommandLine
import CredentialCore

/// The commands that an administrator of a cluster runs for a group, as lines for a shell. If they run again, they
/// do only the missing steps.
struct EtcdCommands {
    let group: KeychainGroup
    /// The prefix of the group's keys.
    let prefix: String
    /// The hosts, by the common names of their certificates.
    let hosts: [String]

    /// The names of the cluster's own certificates.
    static let ownNames = ["ca", "node", "root"]

    /// The name of the authority and of the cluster of ``cluster(_:on:)``.
    private var name: String { "credmgr-\(group)" }
    private var role: String { ClusterConfiguration.role(of: group, below: prefix) }

    /// Returns the directory of the files of ``cluster(_:on:)``, in the directory that it is run in.
    static func folder(of group: KeychainGroup) -> String { "etcd-\(group)" }

    /// Takes the group from the user of each host.
    var revoke: String {
        hosts.map { Self.etcdctl(["user", "revoke-role", $0, role]) }.joined(separator: "; ")
    }

    /// The role of the group, and a user with it for each host.
    var setup: String { "set -e\n" + steps.map { $0 + "\n" }.joined() }

    private var steps: [String] {
        let path = ClusterConfiguration.path(of: group, below: prefix)
        var lines = [
            Self.unlessThere("role", role, []),
            Self.etcdctl(["role", "grant-permission", role, "--prefix=true", "readwrite", path]),
        ]
        for host in hosts {
            lines.append(Self.unlessThere("user", host, ["--no-password"]))
            lines.append(Self.etcdctl(["user", "grant-role", host, role]))
        }
        return lines
    }

    /// An authority with certificates of the nodes, of `root` and of each host; the node of this machine, which
    /// runs on; and, once enough nodes run, users, with the steps of ``setup``.
    ///
    /// A host's certificate signs no other one and belongs to no node: it is for calling only.
    ///
    /// - Parameters:
    ///   - endpoints: one of each node.
    ///   - own: which of them is this machine's.
    func cluster(_ endpoints: [EtcdEndpoint], on own: EtcdEndpoint) -> String {
        let names = endpoints.map(\.subjectName).joined(separator: ",")
        let members = endpoints.map { "\($0.host)=\($0.peer(at: $0.host))" }.joined(separator: ",")
        let peerFiles = ["--peer-client-cert-auth", "--peer-trusted-ca-file", "ca.pem", "--peer-cert-allowed-cn"]
        let node = ShellQuoting.line(
            [
                "etcd", "--name", own.host, "--data-dir", "data", "--auto-compaction-retention=1h",
                "--listen-client-urls", own.client(at: own.bound), "--advertise-client-urls",
                own.client(at: own.host),
                "--listen-peer-urls", own.peer(at: own.bound), "--initial-advertise-peer-urls",
                own.peer(at: own.host),
                "--initial-cluster", members, "--initial-cluster-token", name, "--client-cert-auth",
                "--trusted-ca-file", "ca.pem", "--cert-file", "node.pem", "--key-file", "node.key",
            ] + peerFiles + ["node", "--peer-cert-file", "node.pem", "--peer-key-file", "node.key"])
        return """
            set -e
            umask 077
            mkdir -p \(Self.folder(of: group))
            cd \(Self.folder(of: group))
            quietly() { said=$("$@" 2>&1) || { printf '%s\\n' "$said" >&2; exit 1; }; }
            key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
            certificate() {  # NAME USAGE [ADDRESSES]: for ten years, where there is none yet
                test -e "$1.pem" && return
                quietly openssl req $key -subj "/CN=$1" -addext basicConstraints=critical,CA:FALSE \\
                    -addext "extendedKeyUsage=$2" ${3:+-addext "subjectAltName=$3"} -keyout "$1.key" -out "$1.csr"
                quietly openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 \\
                    -copy_extensions copyall -out "$1.pem"
                rm "$1.csr"
            }
            test -e ca.pem || quietly openssl req -x509 $key -days 3650 -subj /CN=\(name) -keyout ca.key -out ca.pem
            certificate node serverAuth,clientAuth '\(names)'
            for host in \((["root"] + hosts).joined(separator: " ")); do certificate $host clientAuth; done

            export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=\(own.client(at: own.host))
            export ETCDCTL_CACERT=ca.pem ETCDCTL_CERT=root.pem ETCDCTL_KEY=root.key
            if ! test -e node; then
                cat >node <<'END'
            #!/bin/sh
            # The node of this machine.
            cd "$(dirname "$0")" && echo $$ >node.pid && exec \(node)
            END
                chmod +x node
            fi
            if ! etcdctl endpoint health >/dev/null 2>&1; then
                nohup ./node >>node.log 2>&1 </dev/null &
                echo 'waiting for the cluster; node.log has what this node says' >&2
                until etcdctl endpoint health >/dev/null 2>&1; do
                    kill -0 $! 2>/dev/null || { tail -n 5 node.log >&2; exit 1; }
                    sleep 1
                done
            fi
            \(own == endpoints.first ? users : "")
            """
    }

    /// Once for all nodes: two machines that do it at the same time are in each other's way.
    private var users: String {
        let lines =
            [
                Self.unlessThere("user", "root", ["--no-password"]),
                Self.etcdctl(["user", "grant-role", "root", "root"]),
            ]
            + steps + [Self.etcdctl(["auth", "enable"])]
        return lines.map { $0 + "\n" }.joined()
    }

    private static func unlessThere(_ kind: String, _ name: String, _ more: [String]) -> String {
        "\(etcdctl([kind, "get", name])) >/dev/null 2>&1 || \(etcdctl([kind, "add", name] + more))"
    }

    private static func etcdctl(_ words: [String]) -> String { ShellQuoting.line(["etcdctl"] + words) }
}

/// One address of a node that this machine, or another, is to run.
struct EtcdEndpoint: Hashable {
    let host: String
    let port: UInt16

    /// Takes an endpoint; `nil` for one without TLS, or whose node would have no port for the other nodes, which is
    /// the next one.
    init?(_ address: URI) {
        let port = address.port ?? 443
        // It is part of the text of a script.
        guard address.scheme == "https", port > 0, port < UInt16.max,
            Identifier.isValid(address.host) || address.host.contains(":")
        else { return nil }
        host = address.host
        self.port = port
    }

    private var isIPv6: Bool { host.contains(":") }
    private var isAddress: Bool { isIPv6 || host.allSatisfy { $0.isNumber || $0 == "." } }

    /// The name for it in the certificate.
    var subjectName: String { (isAddress ? "IP:" : "DNS:") + host }

    /// The address that the node listens on: etcd accepts addresses only, and a machine's own name often means
    /// localhost.
    var bound: String { isAddress ? host : "0.0.0.0" }

    func client(at host: String) -> String { "https://\(Self.written(host)):\(port)" }
    func peer(at host: String) -> String { "https://\(Self.written(host)):\(port + 1)" }

    private static func written(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
