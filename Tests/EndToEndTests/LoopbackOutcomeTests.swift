import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The pages that the browser is given, and the page that it shows in the end.
@Suite struct `The browser at a sign-in` {
    private let home: Home
    private let tenant: DemoTenant

    init() throws {
        home = try Home(["CREDMGR_STORE": "file"])
        tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
    }

    @Test func `It shows the signed-in user, after the sign-in is complete`() throws {
        let browser = try PageReader(in: home)
        try home.run(["login", "--type", "Tasks"], environment: ["BROWSER": browser.path])
        let page = try browser.page()
        #expect(page.contains("<h1>credmgr: alice@example.com is signed in to Tasks</h1>"), "\(page)")
    }

    @Test func `It shows the error after the redirect`() throws {
        let browser = try PageReader(in: home, changing: "s/code=/code=x/")
        let outcome = try home.run(["login", "--type", "Tasks"], environment: ["BROWSER": browser.path], exits: 4)
        let page = try browser.page()
        #expect(page.contains("<h1>credmgr: not signed in to Tasks</h1>"), "\(page)")
        #expect(page.contains("did not accept the code") && !page.contains("is signed in"))
        #expect(outcome.standardError.contains("did not accept the code"))
    }

    @Test(.needs(.root))
    func `Another user neither signs in nor ends a sign-in`() throws {
        let alice = try PageReader.browser(in: home)
        let path = try home.write(
            """
            #!/bin/sh
            at=$(echo "$1" | grep -o 'redirect_uri=[^&]*' | sed 's/redirect_uri=//; s/%3A/:/g; s/%2F/\\//g')
            state=$(echo "$1" | grep -o '[?&]state=[^&]*' | sed 's/.*=//')
            for answer in error=access_denied code=his; do
                setpriv --reuid=65534 --regid=65534 --clear-groups \\
                    curl -s "$at/?state=$state&$answer" >> '\(home.path)/outside/strange'
                setpriv --reuid=65534 --regid=65534 --clear-groups python3 -c '
            import socket, sys, urllib.parse
            parts = urllib.parse.urlsplit(sys.argv[1])
            peer = socket.create_connection(("localhost", parts.port))
            request = f"GET {parts.path}?{parts.query} HTTP/1.1\\r\\nHost: {parts.netloc}\\r\\n\\r\\n"
            peer.sendall(request.encode())' "$at/?state=$state&$answer"
            done
            exec '\(alice)' "$1"

            """, to: "outside/two", mode: 0o700)
        let done = try home.run(["login", "--type", "Tasks"], environment: ["BROWSER": path])
        #expect(done.line.hasSuffix("\talice@example.com"))
        #expect(done.standardError.contains("\"redirect_peers\": \"uid:65534\""))
        #expect(home.text(of: "outside/strange")?.contains("this sign-in was not accepted") == true)
        // The way out that it names.
        try home.write(#"{"redirect_peers": "uid:65534"}"#, to: "config/credmgr/config.json")
        let taken = try home.run(["login", "--type", "Tasks"], environment: ["BROWSER": path], exits: 7)
        #expect(taken.standardError.contains("refused"))
        try home.write(#"{"redirect_peers": "everybody"}"#, to: "config/credmgr/config.json")
        try home.run(["which"], exits: 2)
    }

    @Test func `The desktop's browser is given a private file, a named one the address`() throws {
        let robot = try PageReader.browser(in: home)
        try home.write(
            """
            #!/bin/sh
            printf '%s' "$*" > '\(home.path)/outside/arguments'
            stat -c %a "$1" > '\(home.path)/outside/mode'
            url=$(grep -o 'a href="[^"]*' "$1" | sed 's/a href="//; s/&amp;/\\&/g')
            exec '\(robot)' "$url"

            """, to: "outside/bin/xdg-open", mode: 0o700)
        let path = ["PATH": "\(home.path)/outside/bin:/usr/bin:/bin"]
        let done = try home.run(["login", "--type", "Tasks"], environment: path)
        #expect(done.line.hasSuffix("\talice@example.com"))
        let file = try #require(home.text(of: "outside/arguments"))
        #expect(file.hasPrefix(home.path + "/run/credmgr/sign-in-") && file.hasSuffix(".html"))
        #expect(home.text(of: "outside/mode") == "600\n")
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(!done.standardError.contains("Open this address"))

        let named = try Browser(in: home)
        try home.run(["login", "--type", "Tasks"], environment: named.environment)
        #expect(named.receivedAddress.hasPrefix(tenant.base))
        try home.write(
            #"{"browser": "\#(named.environment["BROWSER"] ?? "")"}"#, to: "config/credmgr/config.json")
        try home.run(["login", "--type", "Tasks"])
        #expect(named.receivedAddress.hasPrefix(tenant.base))
    }
}
