import Foundation
import TestSupport
import Testing

/// The settings that `setup` makes through other programs are reverted with the rest.
@Suite struct `What setup has had done is taken back` {
    private let home: Home

    init() throws { home = try Home() }

    @Test(.needs(Need("xdg-mime", isDemanded: true, isThere: ProgramScene.has("xdg-mime"))))
    func `the handler of redirects to a scheme`() throws {
        let own =
            "[Added Associations]\ntext/html=mine.desktop;\n\n[Default Applications]\ntext/html=mine.desktop\n"
        let file = "config/mimeapps.list", words = ["setup", "redirect-handler", "--scheme", "com.example.app"]
        try home.write(own, to: file)
        let done = try home.run(words)
        #expect(done.standardError.contains("xdg-mime accepted the setup"), "\(done.standardError)")
        #expect(
            try home.run(["setup", "--list"]).standardOutput.contains(
                "redirect-handler com.example.app\t\(home.path)/\(file)"))
        try home.run(words + ["--undo"])
        #expect(home.text(of: file) == own)

        let another = own + "x-scheme-handler/com.example.app=other.desktop\n"
        try home.write(another, to: file)
        let refused = try home.run(words, exits: 2).standardError
        #expect(
            refused.contains("line 6 has a different setting") && refused.contains("hint: remove that line"),
            "\(refused)")
        #expect(home.text(of: file) == another)
    }

    @Test func `the units that were enabled, while they are still there`() throws {
        let systemd = try StandIn(at: home)
        try home.run(["setup", "timer"], environment: systemd.environment)
        try home.run(["setup", "timer", "--undo", "--dry-run"], environment: systemd.environment)
        try home.run(["setup", "timer", "--undo"], environment: systemd.environment)
        let nothing = try home.run(["setup", "timer", "--undo"], environment: systemd.environment)
        #expect(nothing.standardError.contains("no changes of this setup were found"))
        #expect(
            systemd.calls == [
                "--user enable --now credmgr-refresh.timer: there",
                "--user disable --now credmgr-refresh.timer: there",
            ])
    }

    @Test func `a unit that cannot be started stays neither enabled nor there`() throws {
        let systemd = try StandIn(at: home, refuses: "enable")
        let failed = try home.run(["setup", "timer"], environment: systemd.environment, exits: 1)
        #expect(failed.standardError.contains("systemctl rejected the setup (exit status 1)"))
        #expect(systemd.calls.last == "--user disable --now credmgr-refresh.timer: there")
        #expect(home.text(of: StandIn.unit) == nil)
    }

    @Test func `an existing unit stays enabled if a second setup fails`() throws {
        let systemd = try StandIn(at: home)
        try home.run(["setup", "timer"], environment: systemd.environment)
        let failing = try StandIn(at: home, refuses: "enable")
        try home.run(["setup", "timer"], environment: failing.environment, exits: 1)
        #expect(!failing.calls.contains { $0.contains("disable") })
        #expect(home.text(of: StandIn.unit) != nil)
    }

    @Test func `a change that is not undone is reported, with the command`() throws {
        let systemd = try StandIn(at: home, refuses: "disable")
        try home.run(["setup", "timer"], environment: systemd.environment)
        let told = try home.run(["setup", "timer", "--undo"], environment: systemd.environment).standardError
        #expect(
            told.contains("undo the changes of the call: systemctl --user disable --now credmgr-refresh.timer\n"),
            "\(told)")
        #expect(home.text(of: StandIn.unit) == nil)
    }

    /// Tests have no systemd for the user: a program of that name records its calls, and whether the unit is there
    /// then.
    private struct StandIn {
        static let unit = "config/systemd/user/credmgr-refresh.timer"
        private let home: Home
        var environment: [String: String] { ["PATH": home.path + "/programs:/usr/bin:/bin"] }
        var calls: [String] {
            (home.text(of: "calls") ?? "").split(separator: "\n").map(String.init)
        }

        init(at home: Home, refuses word: String = "none") throws {
            self.home = home
            try home.write(
                """
                #!/bin/sh
                [ -e '\(home.path)/\(Self.unit)' ] && there=there
                echo "$*: $there" >>'\(home.path)/calls'
                [ "$2" != \(word) ]

                """, to: "programs/systemctl")
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: home.path + "/programs/systemctl")
        }
    }
}
