import Foundation
import StrictJSON
import TestSupport
import Testing

// Wrong certificates, of the nodes and of a host.
extension `What goes wrong in a group of several hosts` {
    private func row(_ group: String, _ home: Home) throws -> JSONObject {
        let rows = (try home.json(["groups", "--json"]).array ?? []).compactMap(\.object)
        return try #require(rows.first { $0["group"]?.string == group })
    }

    @Test func `Groups are listed beside one with a cluster that refuses this host's certificate`() throws {
        let nodes = try EtcdNodes.shared(), hosts = try hosts(["one"])
        _ = try hosts.share()
        let one = hosts["one"], group = SharedHosts.group
        try hosts.tenant.define("Own", at: one)
        try one.run(["types", "set", "Own", "keychain_group=own"])
        let backend = try #require(one.files[Self.backendFile])
        func state() throws -> (accounts: JSONValue?, state: JSONValue?) {
            #expect(try row("own", one)["accounts"] == 0)
            let row = try row(group, one)
            return (row["accounts"], row["shared"]?.object?["state"])
        }
        #expect(try state() == (1, "usable"))

        // The node accepts it without any rights: the number of accounts now is not known.
        try come(one, as: "other", backend)
        let hint =
            "hint: have a cluster administrator grant the group's role with the commands that this prints: "
            + "credmgr groups share \(group) --print-etcd-setup --name other --prefix \(hosts.prefix)\n"
        let listed = try one.run(["groups"])
        #expect(listed.standardError.contains("warning: the accounts of group \(group) are left out: "))
        #expect(listed.standardError.hasSuffix(hint), "\(listed.standardError)")
        #expect(try state() == (.null, "unavailable"))
        #expect(try one.run(["groups", "--group", group], exits: 5).standardError.hasSuffix(hint))
        try one.run(
            Array(
                try #require(hint.split(separator: ": ").last).split(separator: " ").dropFirst().map { word in
                    word.trimmingCharacters(in: .newlines)
                }))

        // The node refuses it: credmgr uses the last known state.
        try come(one, as: "stranger", backend)
        let closed = try one.run(["groups"]).standardError
        #expect(closed.contains("group \(group) is shown as this host has last seen it: "))
        #expect(
            closed.contains("may not accept the certificate \(nodes.certificate(of: "stranger").certificate)"),
            "\(closed)")
        #expect(try state() == (1, "unavailable"))

        try backend.write(to: URL(fileURLWithPath: one.path + "/" + Self.backendFile))
        #expect(try state() == (1, "usable"))
    }

    @Test(arguments: ["share", "join"])
    func `A fault of the certificates is reported before or by the first connection`(command: String) throws {
        let nodes = try EtcdNodes.shared(), home = try Home(), group = "certificates"
        let url = nodes.endpoints[0], own = nodes.certificate(of: "host"), other = nodes.certificate(of: "other")
        let stranger = nodes.certificate(of: "stranger"), help = "hint: credmgr groups \(command) --help\n"
        let junk = try home.write("x", to: "junk.pem"), locked = home.path + "/locked.key"
        let made = try ChildProcess(
            "/usr/bin/openssl", ["pkey", "-in", own.key, "-aes256", "-passout", "pass:abc", "-out", locked],
            environment: [:]
        ).run()
        #expect(made.exitStatus == 0)
        func told(_ words: [String], exits status: Int32) throws -> String {
            try home.run(["groups", command, group] + words, exits: status).standardError
        }
        func told(
            _ ca: String? = nil, _ certificate: String? = nil, _ key: String? = nil, at address: String? = nil,
            exits status: Int32
        ) throws -> String {
            var words = ["--etcd", address ?? url, "--prefix", "/credmgr/\(command)"]
            for (option, file) in [("--ca", ca), ("--cert", certificate), ("--key", key)] {
                if let file { words += [option, file] }
            }
            return try told(words, exits: status)
        }
        let ca = nodes.authorities

        // By the options and files alone.
        #expect(
            try told([], exits: 2).hasSuffix(
                "error: --etcd is required: it names the endpoints of the cluster\n" + "credmgr: " + help))
        #expect(try told(ca, own.certificate, exits: 2).contains("there is no --key\ncredmgr: " + help))
        #expect(try told(ca, nil, own.key, exits: 2).contains("there is no --cert\ncredmgr: " + help))
        for (words, message) in [
            ([home.path + "/gone", own.certificate, own.key], "file not found: \(home.path)/gone (--ca)"),
            ([ca, home.path + "/gone", own.key], "file not found: \(home.path)/gone (--cert)"),
            ([ca, own.certificate, home.path + "/gone"], "file not found: \(home.path)/gone (--key)"),
            (
                [home.path, own.certificate, own.key],
                "the file of --ca cannot be read: \(home.path) is not a regular file"
            ),
            ([junk, own.certificate, own.key], "\(junk) (--ca) has no certificate in PEM form"),
            ([ca, junk, own.key], "\(junk) (--cert) has no certificate in PEM form"),
            ([ca, own.certificate, junk], "\(junk) (--key) has no private key in PEM form"),
            ([ca, own.key, own.certificate], "\(own.key) (--cert) has no certificate in PEM form"),
        ] {
            let told = try told(words[0], words[1], words[2], exits: 2)
            #expect(told == "credmgr: error: \(message)\ncredmgr: \(help)", "\(told)")
        }
        let asked = try told(ca, own.certificate, locked, exits: 2)
        #expect(asked.contains("cannot use the key \(locked) (--key): it has a passphrase"))
        #expect(asked.hasSuffix(": openssl pkey -in \(locked) -out \(locked).plain\n"), "\(asked)")

        // By the connection.
        let pair = try told(ca, own.certificate, other.key, exits: 2)
        #expect(
            pair.contains("cannot use the key \(other.key): ")
                && pair.contains("does not match the certificate \(own.certificate)"))
        for (authorities, shown) in [
            (nodes.wrongAuthorities, "the authorities in \(nodes.wrongAuthorities)"),
            (nil, "the system's authorities"),
        ] {
            let refused = try told(authorities, own.certificate, own.key, exits: 7)
            #expect(refused.contains("is not valid for \(shown): "), "\(refused)")
            #expect(refused.contains("hint: set --ca of 'groups share' or 'groups join' to the authority"))
        }
        let named = try told(
            ca, own.certificate, own.key, at: url.replacingOccurrences(of: "127.0.0.1", with: "node.localhost"),
            exits: 7)
        #expect(
            named.contains("has different names: ")
                && named.contains("hint: use the names in the nodes' certificates for --etcd"))
        for _ in 0..<3 {
            // The faster side decides the words with which the node closes the connection.
            let anonymous = try told(ca, exits: 6)
            #expect(anonymous.contains("it may require a certificate of this host (--cert, --key)"), "\(anonymous)")
            let foreign = try told(ca, stranger.certificate, stranger.key, exits: 6)
            #expect(
                foreign.contains("it may not accept the certificate \(stranger.certificate) of this host"),
                "\(foreign)")
            #expect(
                foreign.hasSuffix(
                    ": etcdctl --endpoints \(url) --cacert \(ca) --cert \(stranger.certificate) --key \(stranger.key) endpoint health\n"
                ))
        }
        let plain = try told(at: url.replacingOccurrences(of: "https", with: "http"), exits: 6)
        #expect(plain.contains("it may require \(url)"), "\(plain)")
    }

    @Test func `A key with a passphrase that came later is not asked for`() throws {
        let nodes = try EtcdNodes.shared(), hosts = try hosts(["one"])
        _ = try hosts.share()
        let one = hosts["one"], own = nodes.certificate(of: "host"), locked = one.path + "/locked.key"
        let made = try ChildProcess(
            "/usr/bin/openssl", ["pkey", "-in", own.key, "-aes256", "-passout", "pass:abc", "-out", locked],
            environment: [:]
        ).run()
        #expect(made.exitStatus == 0)
        let file = one.path + "/" + Self.backendFile
        let text = String(decoding: try #require(one.files[Self.backendFile]), as: UTF8.self)
        for (key, message) in [
            (locked, "cannot use the key \(locked): it is encrypted, "),
            ("/gone.key", "cannot read /gone.key: "),
        ] {
            let changed = text.replacingOccurrences(
                of: JSONValue.string(own.key).text(), with: JSONValue.string(key).text())
            try Data(changed.utf8).write(to: URL(fileURLWithPath: file))
            let refused = try one.run(["groups", "hosts", SharedHosts.group], exits: 2).standardError
            #expect(refused.hasPrefix("credmgr: error: " + message), "\(refused)")
        }
    }
}
